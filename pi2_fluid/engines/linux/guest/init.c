/* Process 1 of the guest: does what its plan says, and writes what became of packets, queue and flows.
 *
 * It makes three network namespaces in a row, a sender, a router and a receiver, and reads /plan, whose orders plan.py
 * describes. It writes /out.pkt, /out.q and /out.tcp, whose records reader.py describes. What it says begins with
 * "guest": "guest at 1.5" is how far it is (s), "guest done" and "guest failed: REASON" are its end.
 *
 * With an argument it is not alone in a machine, but in namespaces of its own on one that others use: then it ends by
 * itself, and not by switching the machine off. Nothing here depends on the kernel's version.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/rtnetlink.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "guest.h"

enum { MOST_CHANGES = 256, FILES = 65536 };

/* What happens at a time: a flow comes, or goes, or a message is sent. */
struct event {
    double at;
    enum { COME, GO, TELL } what;
    int which;
};

static struct event events[2 * MOST_FLOWS + MOST_CHANGES];
static char *messages[MOST_CHANGES];
static int event_count, message_count, next_event;

/* The run */

static int by_time(const void *left_, const void *right_)
{
    const struct event *one = left_, *other = right_;
    return one->at != other->at ? (one->at > other->at) - (one->at < other->at) : (one > other) - (one < other);
}

/* Lets happen what is due, and has the timer wait for what is next. */
static void happen(int timer)
{
    for (; next_event < event_count && events[next_event].at <= now() + 0.5 / NS; next_event++) {
        const struct event *event = events + next_event;
        if (event->what == COME)
            start(event->which);
        else if (event->what == GO)
            stop(event->which);
        else
            tell(messages[event->which]);
    }
    if (next_event == event_count)
        return;
    const struct itimerspec when = {.it_value = after(origin + events[next_event].at)};
    if (timerfd_settime(timer, TFD_TIMER_ABSTIME, &when, NULL))
        fail("timer");
}

static FILE *open_log(const char *path)
{
    FILE *file = fopen(path, "w");
    if (!file || setvbuf(file, NULL, _IOFBF, 1 << 20))
        fail("%s", path);
    return file;
}

static void end_run(void)
{
    record_waiting();
    require_whole(tap_before, "r_s");
    require_whole(tap_behind, "r_d");
    if (fclose(packet_file) || fclose(queue_file) || fclose(flow_file))
        fail("writing the log");
    printf("guest done\n");
}

static void run(double duration, double every, int flows_every)
{
    enter(ROUTER);
    tap_before = open_tap("r_s", 0);
    tap_behind = open_tap("r_d", 1);
    enter(RECEIVER);
    for (int i = 0; i < class_count; i++)
        listen_for(i);
    packet_file = open_log("/out.pkt");
    queue_file = open_log("/out.q");
    flow_file = open_log("/out.tcp");
    qsort(events, (size_t)event_count, sizeof *events, by_time);
    struct timespec start_;
    clock_gettime(CLOCK_REALTIME, &start_);
    began = stamp_of(&start_);
    origin = clock_of(CLOCK_MONOTONIC);
    const int ticker = repeat(origin + every, every), due = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
    await(ticker, EPOLLIN, TICK, 0);
    await(due, EPOLLIN, DUE, 0);
    happen(due);
    const double saying = duration < 10.0 ? 0.1 : duration / 100.0;
    double said = 0.0;
    for (uint64_t tick = 0;;) {
        struct epoll_event ready[64];
        const int count = epoll_wait(poller, ready, 64, -1);
        for (int i = 0; i < count; i++) {
            const int why = (int)(ready[i].data.u64 >> 32), which = (int)(uint32_t)ready[i].data.u64;
            if (why == ACCEPT)
                accept_all(which);
            else if (why == RECEIVE)
                receive(which);
            else if (why == SEND)
                fill(which);
            else if (why == SEND_UDP)
                send_datagrams(which);
            else if (why == DUE && expirations(due))
                happen(due);
            else if (why == TICK) {
                const double at = now();
                tick += expirations(ticker);
                drain(tap_before, 0);
                drain(tap_behind, 1);
                sample_queue(at);
                if (tick % (uint64_t)flows_every == 0)
                    sample_flows(at);
                if (at >= said + saying) {
                    said = at;
                    printf("guest at %.3f\n", at);
                    fflush(stdout);
                }
                if (at >= duration - every / 2.0) {
                    end_run();
                    return;
                }
            }
        }
    }
}

/* The plan */

static void add_event(double at, int what, int which)
{
    events[event_count++] = (struct event){.at = at, .what = what, .which = which};
}

static void read_order(char *line)
{
    char path[200], value[200], full[256];
    int namespace, end_of_time = 0;
    double at, every;
    int flows_every;
    struct class *class = classes + class_count;
    struct flow *flow = flows + flow_count;
    line[strcspn(line, "\n")] = 0;
    if (sscanf(line, "sys %d %199s %199[^\n]", &namespace, path, value) == 3) {
        snprintf(full, sizeof full, "/proc/sys/%s", path);
        enter(namespace);
        write_to(full, value);
    } else if (strncmp(line, "nl ", 3) == 0) {
        tell(line);
    } else if (sscanf(line, "rest %lf", &at) == 1) {
        const struct timespec time = after(at);
        nanosleep(&time, NULL);
    } else if (sscanf(line, "at %lf %n", &at, &end_of_time) == 1 && end_of_time && message_count < MOST_CHANGES) {
        messages[message_count] = strdup(line + end_of_time);
        add_event(at, TELL, message_count++);
    } else if (class_count < MOST_CLASSES
               && sscanf(line, "class %15s %d %d %lf %d %d %d", class->control, &class->ecn, &class->priority,
                         &class->interval, &class->payload, &class->full, &class->rest)
                   == 7) {
        class_count++;
    } else if (flow_count < MOST_FLOWS
               && sscanf(line, "flow %d %lf %lf", &flow->class, &flow->start, &flow->stop) == 3) {
        add_event(flow->start, COME, flow_count);
        add_event(flow->stop, GO, flow_count++);
    } else if (sscanf(line, "run %lf %lf %d", &at, &every, &flows_every) == 3) {
        run(at, every, flows_every);
        end(0);
    } else {
        errno = EINVAL;
        fail("order %.80s", line);
    }
}

/* A kernel lets TCP have a part of its memory, and of a guest's, which is small, that holds senders back: theirs are
   those of a machine with 16 GiB and more. Namespaces that are made later inherit them. */
static void lift_limits(void)
{
    write_to("/proc/sys/net/ipv4/tcp_mem", "196608 262144 393216");
    write_to("/proc/sys/net/ipv4/tcp_wmem", "4096 16384 4194304");
    write_to("/proc/sys/net/ipv4/tcp_rmem", "4096 131072 33554432");
}

int main(int count, char **arguments)
{
    static char line[2 * MOST_TEXT];
    const struct rlimit files = {FILES, FILES};
    (void)arguments;
    shared = count > 1;
    if (mount("proc", "/proc", "proc", 0, NULL))
        fail("mounting /proc");
    if (!shared)
        lift_limits();
    setrlimit(RLIMIT_NOFILE, &files);
    for (int i = 0; i < NAMESPACES; i++) {
        if (unshare(CLONE_NEWNET))
            fail("a network namespace");
        const int fd = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
        if (fd < 0 || dup2(fd, NAMESPACE_FD + i) < 0)
            fail("a network namespace");
        close(fd);
        netlinks[i] = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
        if (netlinks[i] < 0)
            fail("rtnetlink");
    }
    poller = epoll_create1(0);
    FILE *plan = fopen("/plan", "r");
    if (!plan)
        fail("/plan");
    while (fgets(line, sizeof line, plan))
        read_order(line);
    errno = EINVAL;
    fail("a plan without a run");
}

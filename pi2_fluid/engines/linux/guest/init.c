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
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/gen_stats.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum { SENDER, ROUTER, RECEIVER, NAMESPACES };
enum { NAMESPACE_FD = 100, TO_PORT = 5000, FROM_PORT = 10000, ADDRESS = 0x0a000202 /* 10.0.2.2 */ };
enum { MOST_CLASSES = 64, MOST_FLOWS = 4096, MOST_CHANGES = 256, MOST_TEXT = 4096 };
enum { LEAF = 0x10001, DROPPED = 255, QUEUED = 254, OWN_BYTES = 64, SNAP = 64, ETHERNET = 14, BATCH = 64 };
enum { TAP_BYTES = 64 << 20, FILES = 65536 };
static const double NS = 1e9;
static const int IPPROTO_TCP_ = 6, CONGESTION = 13, INFO = 11; /* levels and options of TCP */

/* What epoll says became possible. */
enum { ACCEPT, SEND, RECEIVE, TICK, SEND_UDP, DUE };

struct class {
    char control[16];
    int ecn, priority, payload, listener;
    double rate; /* bit/s; 0: TCP */
};

/* A packet that has come to the queue and not left it. */
struct waiting {
    uint64_t came; /* ns */
    uint16_t id, bytes;
    uint8_t ecn;
};

enum state { TO_COME, THERE, GONE };

/* Packets in the order in which they came. */
struct line {
    struct waiting *ring; /* room for a power of two, or none */
    uint32_t room, first, count;
};

struct flow {
    enum state state;
    int class, socket, accepted, timer;
    double start, stop; /* s */
    struct line lines[2]; /* of packets that cannot be marked, and of those that can: they may wait in two queues */
};

/* What happens at a time: a flow comes, or goes, or a message is sent. */
struct event {
    double at;
    enum { COME, GO, TELL } what;
    int which;
};

struct packet_record {
    uint32_t came; /* us */
    uint16_t flow;
    uint8_t ecn_in, ecn_out;
    uint32_t sojourn; /* ns, the lower bits */
    uint16_t bytes, sojourn_high;
};

struct queue_record {
    double at;
    struct gnet_stats_queue counters;
    uint32_t records;
    uint64_t bytes;
    uint32_t packets, said;
    uint8_t own[OWN_BYTES];
} __attribute__((packed));

struct flow_record {
    float at;
    uint32_t flow, window, rtt, retransmissions, timeouts;
    uint64_t acknowledged;
};

static struct class classes[MOST_CLASSES];
static struct flow flows[MOST_FLOWS];
static struct event events[2 * MOST_FLOWS + MOST_CHANGES];
static char *messages[MOST_CHANGES];
static int class_count, flow_count, event_count, message_count, next_event;
static int netlinks[NAMESPACES], poller, queue_device, tap_before, tap_behind, shared;
static FILE *packet_file, *queue_file, *flow_file;
static uint64_t began; /* ns, of the clock that stamps packets */
static double origin; /* s, of the clock that timers follow */
static char buffer[1 << 18];

/* The end, and how to get there. */

static void end(int failed)
{
    fflush(NULL);
    sync();
    if (!shared)
        reboot(RB_POWER_OFF);
    exit(failed);
}

static void fail(const char *format, ...)
{
    const int reason = errno;
    va_list arguments;
    va_start(arguments, format);
    printf("guest failed: ");
    vprintf(format, arguments);
    printf(": %s\n", strerror(reason));
    va_end(arguments);
    end(1);
}

static double clock_of(clockid_t which)
{
    struct timespec t;
    clock_gettime(which, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / NS;
}

static uint64_t stamp_of(const struct timespec *t)
{
    return (uint64_t)t->tv_sec * 1000000000u + (uint64_t)t->tv_nsec;
}

static double now(void)
{
    return clock_of(CLOCK_MONOTONIC) - origin;
}

static void enter(int namespace)
{
    if (setns(NAMESPACE_FD + namespace, CLONE_NEWNET))
        fail("entering namespace %d", namespace);
}

static void write_to(const char *path, const char *value)
{
    const int fd = open(path, O_WRONLY);
    if (fd < 0 || write(fd, value, strlen(value)) < 0)
        fail("writing %s to %s", value, path);
    close(fd);
}

static void await(int fd, uint32_t what, uint32_t why, int which)
{
    struct epoll_event event = {.events = what, .data.u64 = (uint64_t)why << 32 | (uint32_t)which};
    if (epoll_ctl(poller, EPOLL_CTL_ADD, fd, &event))
        fail("epoll");
}

static struct timespec after(double seconds)
{
    const time_t whole = (time_t)seconds;
    return (struct timespec){whole, (long)((seconds - (double)whole) * NS)};
}

/* A timer that fires every so many seconds, for the first time at a time of its clock. */
static int repeat(double first, double interval)
{
    const int fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
    const struct itimerspec when = {after(interval), after(first)};
    if (fd < 0 || timerfd_settime(fd, TFD_TIMER_ABSTIME, &when, NULL))
        fail("timer");
    return fd;
}

static uint64_t expirations(int timer)
{
    uint64_t count;
    return read(timer, &count, sizeof count) == sizeof count ? count : 0;
}

/* Messages of rtnetlink, which come ready but for their head and the index of a device. */

static void tell(const char *order)
{
    static struct {
        struct nlmsghdr head;
        uint8_t payload[MOST_TEXT / 2];
    } message;
    static char digits[MOST_TEXT];
    char device[IFNAMSIZ];
    int namespace, kind;
    unsigned flags, byte, size = 0;
    if (sscanf(order, "nl %d %15s %d %u %4095s", &namespace, device, &kind, &flags, digits) != 5) {
        errno = EINVAL;
        fail("order %.80s", order);
    }
    for (const char *at = digits; at[0] && at[1] && sscanf(at, "%2x", &byte) == 1; at += 2)
        message.payload[size++] = (uint8_t)byte;
    if (strcmp(device, "-") != 0) {
        enter(namespace);
        const uint32_t index = if_nametoindex(device);
        if (!index)
            fail("device %s", device);
        memcpy(message.payload + 4, &index, sizeof index);
    }
    message.head = (struct nlmsghdr){
        .nlmsg_len = (uint32_t)sizeof message.head + size,
        .nlmsg_type = (uint16_t)kind,
        .nlmsg_flags = (uint16_t)(NLM_F_REQUEST | NLM_F_ACK | flags),
    };
    if (send(netlinks[namespace], &message, message.head.nlmsg_len, 0) < 0)
        fail("sending %.80s", order);
    const ssize_t got = recv(netlinks[namespace], buffer, sizeof buffer, 0);
    const struct nlmsgerr *answer = NLMSG_DATA((struct nlmsghdr *)buffer);
    if (got < 0 || answer->error) {
        errno = got < 0 ? errno : -answer->error;
        fail("the kernel refused message %d for %s", kind, device);
    }
}

/* Flows */

static void start_udp(int index, const struct class *of, const struct sockaddr_in *from, const struct sockaddr_in *to)
{
    struct flow *flow = flows + index;
    flow->socket = socket(AF_INET, SOCK_DGRAM, 0);
    if (flow->socket < 0 || bind(flow->socket, (const struct sockaddr *)from, sizeof *from)
        || connect(flow->socket, (const struct sockaddr *)to, sizeof *to))
        fail("a socket of UDP");
    const int headers = 28; /* of IP and UDP */
    flow->timer = repeat(origin + now(), 8.0 * (of->payload + headers + ETHERNET) / of->rate);
    await(flow->timer, EPOLLIN, SEND_UDP, index);
}

static void start(int index)
{
    struct flow *flow = flows + index;
    const struct class *of = classes + flow->class;
    const struct sockaddr_in from = {.sin_family = AF_INET, .sin_port = htons((uint16_t)(FROM_PORT + index))};
    const struct sockaddr_in to = {
        .sin_family = AF_INET,
        .sin_port = htons((uint16_t)(TO_PORT + flow->class)),
        .sin_addr.s_addr = htonl(ADDRESS),
    };
    enter(SENDER);
    flow->state = THERE;
    if (of->rate > 0.0) {
        start_udp(index, of, &from, &to);
        return;
    }
    /* Who asks for ECN is a switch of the namespace, read when a connection begins. */
    write_to("/proc/sys/net/ipv4/tcp_ecn", of->ecn ? "1" : "2");
    const int yes = 1;
    flow->socket = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    if (flow->socket < 0 || setsockopt(flow->socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes)
        || bind(flow->socket, (const struct sockaddr *)&from, sizeof from))
        fail("a socket of TCP");
    if (setsockopt(flow->socket, IPPROTO_TCP_, CONGESTION, of->control, (socklen_t)strlen(of->control)))
        fail("congestion control %s", of->control);
    if (connect(flow->socket, (const struct sockaddr *)&to, sizeof to) && errno != EINPROGRESS)
        fail("connecting");
    await(flow->socket, EPOLLOUT, SEND, index);
}

/* A flow that goes leaves nothing behind: what it has in its socket is not sent. */
static void stop(int index)
{
    struct flow *flow = flows + index;
    const struct linger at_once = {1, 0};
    if (flow->state != THERE)
        return;
    flow->state = GONE;
    if (flow->timer)
        close(flow->timer);
    setsockopt(flow->socket, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    close(flow->socket);
}

static void fill(int index)
{
    if (flows[index].state != THERE)
        return;
    while (send(flows[index].socket, buffer, sizeof buffer, MSG_DONTWAIT | MSG_NOSIGNAL) > 0)
        continue;
    if (errno != EAGAIN)
        fail("flow %d ended", index);
}

static void send_datagrams(int index)
{
    if (flows[index].state != THERE)
        return;
    for (uint64_t count = expirations(flows[index].timer); count > 0; count--)
        send(flows[index].socket, buffer, (size_t)classes[flows[index].class].payload, MSG_DONTWAIT);
}

static void listen_for(int index)
{
    struct class *of = classes + index;
    const struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)(TO_PORT + index))};
    const int tcp = of->rate <= 0.0, fd = socket(AF_INET, (tcp ? SOCK_STREAM : SOCK_DGRAM) | SOCK_NONBLOCK, 0);
    setsockopt(fd, SOL_SOCKET, SO_PRIORITY, &of->priority, sizeof of->priority);
    if (fd < 0 || bind(fd, (const struct sockaddr *)&at, sizeof at))
        fail("a receiver");
    if (tcp && setsockopt(fd, IPPROTO_TCP_, CONGESTION, of->control, (socklen_t)strlen(of->control)))
        fail("congestion control %s", of->control);
    if (tcp && listen(fd, MOST_FLOWS))
        fail("listening");
    of->listener = fd;
    await(fd, EPOLLIN, ACCEPT, index);
}

static void accept_all(int index)
{
    const struct class *of = classes + index;
    struct sockaddr_in peer;
    socklen_t size = sizeof peer;
    int fd;
    if (of->rate > 0.0) {
        while (recv(of->listener, buffer, sizeof buffer, MSG_DONTWAIT) > 0)
            continue;
        return;
    }
    while ((fd = accept4(of->listener, (struct sockaddr *)&peer, &size, SOCK_NONBLOCK)) >= 0) {
        const int flow = ntohs(peer.sin_port) - FROM_PORT;
        setsockopt(fd, SOL_SOCKET, SO_PRIORITY, &of->priority, sizeof of->priority);
        flows[flow].accepted = fd;
        await(fd, EPOLLIN, RECEIVE, flow);
    }
}

/* Discards what has come, without copying it. */
static void receive(int index)
{
    const ssize_t got = recv(flows[index].accepted, NULL, 1 << 30, MSG_TRUNC | MSG_DONTWAIT);
    if (got == 0 || (got < 0 && errno != EAGAIN)) {
        close(flows[index].accepted);
        flows[index].accepted = -1;
    }
}

/* Taps before and behind the queue, which each packet passes with the same identification. */

static int open_tap(const char *device, int behind)
{
    const struct sock_filter only[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)(SKF_AD_OFF + SKF_AD_PKTTYPE)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PACKET_OUTGOING, (uint8_t)(behind ? 0 : 1), (uint8_t)(behind ? 1 : 0)),
        BPF_STMT(BPF_RET | BPF_K, SNAP),
        BPF_STMT(BPF_RET | BPF_K, 0),
    };
    const struct sock_fprog filter = {sizeof only / sizeof *only, (struct sock_filter *)only};
    const struct sockaddr_ll at = {
        .sll_family = AF_PACKET,
        .sll_protocol = htons(ETH_P_ALL),
        .sll_ifindex = (int)if_nametoindex(device),
    };
    const int yes = 1, room = TAP_BYTES, fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter)
        || setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &yes, sizeof yes) || bind(fd, (const struct sockaddr *)&at, sizeof at))
        fail("a tap on %s", device);
    if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room)) /* not allowed in a user's namespace */
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
    return fd;
}

static void record(int flow, const struct waiting *packet, uint8_t ecn_out, uint64_t left)
{
    /* In real time the first stamps may be those of reading, and so in the wrong order. */
    const uint64_t sojourn = ecn_out < QUEUED && left > packet->came ? left - packet->came : 0;
    const struct packet_record row = {
        .came = (uint32_t)((packet->came - began) / 1000),
        .flow = (uint16_t)flow,
        .ecn_in = packet->ecn,
        .ecn_out = ecn_out,
        .sojourn = (uint32_t)sojourn,
        .bytes = packet->bytes,
        .sojourn_high = (uint16_t)(sojourn >> 32),
    };
    fwrite(&row, sizeof row, 1, packet_file);
}

static struct waiting *place_in(const struct line *line, uint32_t place)
{
    return line->ring + ((line->first + place) & (line->room - 1));
}

static void came(struct line *line, struct waiting packet)
{
    if (line->count == line->room) {
        const uint32_t room = line->room ? 2 * line->room : 64;
        struct waiting *ring = malloc(room * sizeof *ring);
        if (!ring)
            fail("room for packets");
        for (uint32_t i = 0; i < line->count; i++)
            ring[i] = *place_in(line, i);
        free(line->ring);
        *line = (struct line){ring, room, 0, line->count};
    }
    *place_in(line, line->count++) = packet;
}

static uint32_t find(const struct line *line, uint16_t id)
{
    uint32_t place = 0;
    while (place < line->count && place_in(line, place)->id != id)
        place++;
    return place;
}

static void drain(int tap, int behind);

/* Packets in a line leave in the order in which they came: those before one that leaves have been dropped. */
static void left(int flow, struct line *line, uint16_t id, uint8_t ecn, uint64_t when)
{
    uint32_t place = find(line, id);
    if (place == line->count) {
        drain(tap_before, 0); /* it came since that tap was read */
        place = find(line, id);
    }
    if (place == line->count) {
        errno = ENOENT;
        fail("a packet of flow %d left that had not come", flow);
    }
    for (uint32_t i = 0; i <= place; i++)
        record(flow, place_in(line, i), i < place ? DROPPED : ecn, when);
    line->first += place + 1;
    line->count -= place + 1;
}

static uint64_t time_of(struct msghdr *message)
{
    struct timespec when = {0, 0};
    for (struct cmsghdr *part = CMSG_FIRSTHDR(message); part; part = CMSG_NXTHDR(message, part))
        if (part->cmsg_level == SOL_SOCKET && part->cmsg_type == SO_TIMESTAMPNS)
            memcpy(&when, CMSG_DATA(part), sizeof when);
    return stamp_of(&when);
}

static void drain(int tap, int behind)
{
    uint8_t heads[BATCH][SNAP];
    char told[BATCH][CMSG_SPACE(sizeof(struct timespec))];
    struct sockaddr_ll froms[BATCH];
    struct mmsghdr batch[BATCH];
    struct iovec vectors[BATCH];
    for (;;) {
        for (int i = 0; i < BATCH; i++) {
            vectors[i] = (struct iovec){heads[i], SNAP};
            batch[i].msg_hdr = (struct msghdr){
                .msg_iov = vectors + i,
                .msg_iovlen = 1,
                .msg_control = told[i],
                .msg_controllen = sizeof told[i],
                .msg_name = froms + i,
                .msg_namelen = sizeof froms[i],
            };
        }
        const int got = recvmmsg(tap, batch, BATCH, MSG_DONTWAIT, NULL);
        if (got <= 0)
            return;
        for (int i = 0; i < got; i++) {
            const uint8_t *ip = heads[i], *ports = ip + (ip[0] & 15) * 4;
            const int flow = (ports[0] << 8 | ports[1]) - FROM_PORT;
            const uint16_t id = (uint16_t)(ip[4] << 8 | ip[5]), bytes = (uint16_t)((ip[2] << 8 | ip[3]) + ETHERNET);
            if (ntohs(froms[i].sll_protocol) != ETH_P_IP || flow < 0 || flow >= flow_count)
                continue;
            const uint64_t when = time_of(&batch[i].msg_hdr);
            const uint8_t ecn = ip[1] & 3;
            struct line *line = flows[flow].lines + (ecn != 0);
            if (behind)
                left(flow, line, id, ecn, when);
            else
                came(line, (struct waiting){when, id, bytes, ecn});
        }
    }
}

static void require_whole(int tap, const char *device)
{
    struct tpacket_stats counts;
    socklen_t size = sizeof counts;
    if (getsockopt(tap, SOL_PACKET, PACKET_STATISTICS, &counts, &size) || counts.tp_drops) {
        errno = ENOBUFS;
        fail("the tap on %s lost packets", device);
    }
}

/* What the kernel counts at the queue: what `tc -s qdisc` shows, undecoded. */

static void read_counters(const struct rtattr *from, struct queue_record *row)
{
    int size = RTA_PAYLOAD(from);
    for (const struct rtattr *at = RTA_DATA(from); RTA_OK(at, size); at = RTA_NEXT(at, size)) {
        const size_t bytes = RTA_PAYLOAD(at);
        if (at->rta_type == TCA_STATS_QUEUE && bytes >= sizeof row->counters)
            memcpy(&row->counters, RTA_DATA(at), sizeof row->counters);
        if (at->rta_type == TCA_STATS_BASIC && bytes >= 12) {
            memcpy(&row->bytes, RTA_DATA(at), sizeof row->bytes);
            memcpy(&row->packets, (const char *)RTA_DATA(at) + sizeof row->bytes, sizeof row->packets);
        }
        if (at->rta_type == TCA_STATS_APP) {
            row->said = (uint32_t)(bytes < OWN_BYTES ? bytes : OWN_BYTES);
            memcpy(row->own, RTA_DATA(at), row->said);
        }
    }
}

static void sample_queue(double at)
{
    const struct {
        struct nlmsghdr head;
        struct tcmsg about;
    } question = {
        {sizeof question, RTM_GETQDISC, NLM_F_REQUEST | NLM_F_ECHO, 0, 0},
        {.tcm_family = AF_UNSPEC, .tcm_ifindex = queue_device, .tcm_parent = LEAF},
    };
    struct queue_record row = {.at = at};
    if (send(netlinks[ROUTER], &question, sizeof question, 0) < 0)
        fail("asking the queue");
    const ssize_t got = recv(netlinks[ROUTER], buffer, sizeof buffer, 0);
    const struct nlmsghdr *answer = (struct nlmsghdr *)buffer;
    if (got < 0 || answer->nlmsg_type != RTM_NEWQDISC) {
        errno = got < 0 ? errno : EPROTO;
        fail("reading the queue");
    }
    int size = (int)(answer->nlmsg_len - NLMSG_LENGTH(sizeof(struct tcmsg)));
    const struct tcmsg *about = NLMSG_DATA(answer);
    for (const struct rtattr *at_ = TCA_RTA(about); RTA_OK(at_, size); at_ = RTA_NEXT(at_, size))
        if ((at_->rta_type & NLA_TYPE_MASK) == TCA_STATS2)
            read_counters(at_, &row);
    fwrite(&row, sizeof row, 1, queue_file);
}

/* What flows of TCP say of themselves, at the places that struct tcp_info has had since Linux 6.7. */
static void sample_flows(double at)
{
    enum { RTT = 68, WINDOW = 80, RETRANSMISSIONS = 100, ACKNOWLEDGED = 120, TIMEOUTS = 240 };
    for (int i = 0; i < flow_count; i++) {
        uint8_t info[512] = {0};
        socklen_t size = sizeof info;
        if (flows[i].state != THERE || classes[flows[i].class].rate > 0.0
            || getsockopt(flows[i].socket, IPPROTO_TCP_, INFO, info, &size))
            continue;
        struct flow_record row = {.at = (float)at, .flow = (uint32_t)i};
        uint16_t timeouts;
        memcpy(&row.window, info + WINDOW, sizeof row.window);
        memcpy(&row.rtt, info + RTT, sizeof row.rtt);
        memcpy(&row.retransmissions, info + RETRANSMISSIONS, sizeof row.retransmissions);
        memcpy(&timeouts, info + TIMEOUTS, sizeof timeouts);
        memcpy(&row.acknowledged, info + ACKNOWLEDGED, sizeof row.acknowledged);
        row.timeouts = timeouts;
        fwrite(&row, sizeof row, 1, flow_file);
    }
}

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
    for (int i = 0; i < 2 * flow_count; i++)
        for (uint32_t k = 0; k < flows[i / 2].lines[i % 2].count; k++)
            record(i / 2, place_in(flows[i / 2].lines + i % 2, k), QUEUED, 0);
    require_whole(tap_before, "r_s");
    require_whole(tap_behind, "r_d");
    if (fclose(packet_file) || fclose(queue_file) || fclose(flow_file))
        fail("writing the log");
    printf("guest done\n");
}

static void run(double duration, double every, int flows_every)
{
    enter(ROUTER);
    queue_device = (int)if_nametoindex("r_d");
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
               && sscanf(line, "class %15s %d %d %lf %d", class->control, &class->ecn, &class->priority, &class->rate,
                         &class->payload)
                   == 5) {
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

int main(int count, char **arguments)
{
    static char line[2 * MOST_TEXT];
    const struct rlimit files = {FILES, FILES};
    (void)arguments;
    shared = count > 1;
    if (mount("proc", "/proc", "proc", 0, NULL))
        fail("mounting /proc");
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

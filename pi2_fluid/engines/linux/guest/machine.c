/* What everything else uses: the end, clocks, namespaces, timers, and who waits for what. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/reboot.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "guest.h"

struct class classes[MOST_CLASSES];
struct flow flows[MOST_FLOWS];
int class_count, flow_count, netlinks[NAMESPACES], poller, shared, tap_before, tap_behind;
FILE *packet_file, *queue_file, *flow_file;
uint64_t began;
double origin;
char buffer[BUFFER];

void end(int failed)
{
    fflush(NULL);
    sync();
    if (!shared)
        reboot(RB_POWER_OFF);
    exit(failed);
}

void fail(const char *format, ...)
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

double clock_of(clockid_t which)
{
    struct timespec t;
    clock_gettime(which, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / NS;
}

uint64_t stamp_of(const struct timespec *t)
{
    return (uint64_t)t->tv_sec * 1000000000u + (uint64_t)t->tv_nsec;
}

double now(void)
{
    return clock_of(CLOCK_MONOTONIC) - origin;
}

void enter(int namespace)
{
    if (setns(NAMESPACE_FD + namespace, CLONE_NEWNET))
        fail("entering namespace %d", namespace);
}

void write_to(const char *path, const char *value)
{
    const int fd = open(path, O_WRONLY);
    if (fd < 0 || write(fd, value, strlen(value)) < 0)
        fail("writing %s to %s", value, path);
    close(fd);
}

void await(int fd, uint32_t what, uint32_t why, int which)
{
    struct epoll_event event = {.events = what, .data.u64 = (uint64_t)why << 32 | (uint32_t)which};
    if (epoll_ctl(poller, EPOLL_CTL_ADD, fd, &event))
        fail("epoll");
}

struct timespec after(double seconds)
{
    const time_t whole = (time_t)seconds;
    return (struct timespec){whole, (long)((seconds - (double)whole) * NS)};
}

int repeat(double first, double interval)
{
    const int fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
    const struct itimerspec when = {after(interval), after(first)};
    if (fd < 0 || timerfd_settime(fd, TFD_TIMER_ABSTIME, &when, NULL))
        fail("timer");
    return fd;
}

uint64_t expirations(int timer)
{
    uint64_t count;
    return read(timer, &count, sizeof count) == sizeof count ? count : 0;
}

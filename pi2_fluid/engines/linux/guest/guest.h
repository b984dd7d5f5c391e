/* What the parts of the guest's program share. */
#ifndef GUEST_H
#define GUEST_H

#include <stdint.h>
#include <stdio.h>
#include <time.h>

#define NS 1e9

enum { SENDER, ROUTER, RECEIVER, NAMESPACES };
enum { NAMESPACE_FD = 100, TO_PORT = 5000, FROM_PORT = 10000, ETHERNET = 14 };
enum { MOST_CLASSES = 64, MOST_FLOWS = 4096, MOST_TEXT = 4096, BUFFER = 1 << 18 };

/* What epoll says became possible. */
enum { ACCEPT, SEND, RECEIVE, TICK, SEND_UDP, DUE };

struct class {
    char control[16];
    int ecn, priority, listener; /* ecn: whether TCP asks for it, or the field of datagrams */
    double interval;             /* s between bursts of UDP; 0: TCP */
    int payload, full, rest;     /* bytes of a datagram; how many full ones a burst has, and bytes of one more, -1: none */
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

extern struct class classes[MOST_CLASSES];
extern struct flow flows[MOST_FLOWS];
extern int class_count, flow_count, netlinks[NAMESPACES], poller, shared, tap_before, tap_behind;
extern FILE *packet_file, *queue_file, *flow_file;
extern uint64_t began; /* ns, of the clock that stamps packets */
extern double origin; /* s, of the clock that timers follow */
extern char buffer[BUFFER];

/* machine.c */
/* Switches the machine off, or ends the program; the second says why, with what errno means. */
void end(int failed);
void fail(const char *format, ...);
double clock_of(clockid_t which);
uint64_t stamp_of(const struct timespec *t);
/* Seconds since the run began. */
double now(void);
void enter(int namespace);
void write_to(const char *path, const char *value);
/* Has epoll say `why` and `which` when a file becomes ready. */
void await(int fd, uint32_t what, uint32_t why, int which);
struct timespec after(double seconds);
/* A timer that fires every so many seconds, for the first time at a time of its clock. */
int repeat(double first, double interval);
uint64_t expirations(int timer);

/* netlink.c */
/* Sends the message of an order, "nl NS DEVICE KIND FLAGS HEX". */
void tell(const char *order);

/* flows.c */
void start(int index);
void stop(int index);
void fill(int index);
void send_datagrams(int index);
void listen_for(int index);
void accept_all(int index);
void receive(int index);

/* taps.c */
/* A tap on what comes in at a device, before the queue, or what goes out, behind it. */
int open_tap(const char *device, int behind);
void drain(int tap, int behind);
/* Writes down what is still in the queue. */
void record_waiting(void);
void require_whole(int tap, const char *device);

/* counters.c */
void sample_queue(double at);
void sample_flows(double at);

#endif

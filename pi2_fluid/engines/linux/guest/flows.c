/* Flows: how they come and go, what they send, and who receives it. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "guest.h"

enum { ADDRESS = 0x0a000202 /* 10.0.2.2 */, TCP = 6, CONGESTION = 13 /* TCP_CONGESTION */ };

static void start_udp(int index, const struct class *of, const struct sockaddr_in *from, const struct sockaddr_in *to)
{
    struct flow *flow = flows + index;
    flow->socket = socket(AF_INET, SOCK_DGRAM, 0);
    if (flow->socket < 0 || bind(flow->socket, (const struct sockaddr *)from, sizeof *from)
        || connect(flow->socket, (const struct sockaddr *)to, sizeof *to))
        fail("a socket of UDP");
    if (setsockopt(flow->socket, IPPROTO_IP, IP_TOS, &of->ecn, sizeof of->ecn))
        fail("the ECN field of UDP");
    flow->timer = repeat(origin + now(), of->interval);
    await(flow->timer, EPOLLIN, SEND_UDP, index);
}

void start(int index)
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
    if (of->interval > 0.0) {
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
    if (setsockopt(flow->socket, TCP, CONGESTION, of->control, (socklen_t)strlen(of->control)))
        fail("congestion control %s", of->control);
    if (connect(flow->socket, (const struct sockaddr *)&to, sizeof to) && errno != EINPROGRESS)
        fail("connecting");
    await(flow->socket, EPOLLOUT, SEND, index);
}

/* A flow that goes leaves nothing behind: what it has in its socket is not sent. */
void stop(int index)
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

void fill(int index)
{
    if (flows[index].state != THERE)
        return;
    while (send(flows[index].socket, buffer, sizeof buffer, MSG_DONTWAIT | MSG_NOSIGNAL) > 0)
        continue;
    if (errno != EAGAIN)
        fail("flow %d ended", index);
}

void send_datagrams(int index)
{
    if (flows[index].state != THERE)
        return;
    const struct class *of = classes + flows[index].class;
    for (uint64_t count = expirations(flows[index].timer); count > 0; count--) {
        for (int i = 0; i < of->full; i++)
            send(flows[index].socket, buffer, (size_t)of->payload, MSG_DONTWAIT);
        if (of->rest >= 0)
            send(flows[index].socket, buffer, (size_t)of->rest, MSG_DONTWAIT);
    }
}

void listen_for(int index)
{
    struct class *of = classes + index;
    const struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)(TO_PORT + index))};
    const int tcp = of->interval <= 0.0, fd = socket(AF_INET, (tcp ? SOCK_STREAM : SOCK_DGRAM) | SOCK_NONBLOCK, 0);
    setsockopt(fd, SOL_SOCKET, SO_PRIORITY, &of->priority, sizeof of->priority);
    if (fd < 0 || bind(fd, (const struct sockaddr *)&at, sizeof at))
        fail("a receiver");
    if (tcp && setsockopt(fd, TCP, CONGESTION, of->control, (socklen_t)strlen(of->control)))
        fail("congestion control %s", of->control);
    if (tcp && listen(fd, MOST_FLOWS))
        fail("listening");
    of->listener = fd;
    await(fd, EPOLLIN, ACCEPT, index);
}

void accept_all(int index)
{
    const struct class *of = classes + index;
    struct sockaddr_in peer;
    socklen_t size = sizeof peer;
    int fd;
    if (of->interval > 0.0) {
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
void receive(int index)
{
    const ssize_t got = recv(flows[index].accepted, NULL, 1 << 30, MSG_TRUNC | MSG_DONTWAIT);
    if (got == 0 || (got < 0 && errno != EAGAIN)) {
        close(flows[index].accepted);
        flows[index].accepted = -1;
    }
}

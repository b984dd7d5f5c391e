/* Taps before and behind the queue, which each packet passes with the same identification. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "guest.h"

enum { DROPPED = 255, QUEUED = 254, SNAP = 64, BATCH = 64, TAP_BYTES = 64 << 20 };

struct packet_record {
    uint32_t came; /* us */
    uint16_t flow;
    uint8_t ecn_in, ecn_out;
    uint32_t sojourn; /* ns, the lower bits */
    uint16_t bytes, sojourn_high;
};

int open_tap(const char *device, int behind)
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

void drain(int tap, int behind)
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

void record_waiting(void)
{
    for (int i = 0; i < 2 * flow_count; i++)
        for (uint32_t k = 0; k < flows[i / 2].lines[i % 2].count; k++)
            record(i / 2, place_in(flows[i / 2].lines + i % 2, k), QUEUED, 0);
}

void require_whole(int tap, const char *device)
{
    struct tpacket_stats counts;
    socklen_t size = sizeof counts;
    if (getsockopt(tap, SOL_PACKET, PACKET_STATISTICS, &counts, &size) || counts.tp_drops) {
        errno = ENOBUFS;
        fail("the tap on %s lost packets", device);
    }
}

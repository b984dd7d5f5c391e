/* Messages of rtnetlink, which come ready but for their head and the index of a device. */
#include <errno.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <string.h>
#include <sys/socket.h>

#include "guest.h"

void tell(const char *order)
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

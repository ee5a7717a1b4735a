// SPDX-License-Identifier: Apache-2.0
/*
 * An init that changes a leolink while the leolink holds packets, and writes the kernel's answers. The tests compile
 * it: gcc -O1 -static.
 *
 * The leolink is on the loopback device, with a rate of 8 kbit/s. The transmission of a packet takes 0.142 s, and
 * sending and counting packets takes no virtual time.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* Constants of guest/links/leolink.h */
enum { RATE_BPS = 2, LIMIT_PKTS = 4, CAPACITY = 11, IN_ORDER = 14 };
#define RECORD_BYTES 160

#define LOOPBACK 1
#define PAYLOAD_BYTES 100

static char end[8192] = "{\"ok\": true, \"virtual_ns\": 0, \"warnings\": [], \"said\": [";
static size_t end_bytes;
static int netlink, udp;
static struct sockaddr_in here = { .sin_family = AF_INET };
static struct {
	struct nlmsghdr header;
	struct tcmsg tc;
	char attributes[512];
} message;

static void note(const char *format, ...)
{
	va_list values;

	va_start(values, format);
	end_bytes += vsnprintf(end + end_bytes, sizeof(end) - end_bytes, format, values);
	va_end(values);
}

static struct rtattr *attribute(int type, const void *value, size_t bytes)
{
	struct rtattr *a = (struct rtattr *)((char *)&message + NLMSG_ALIGN(message.header.nlmsg_len));

	a->rta_type = type;
	a->rta_len = RTA_LENGTH(bytes);
	if (bytes)
		memcpy(RTA_DATA(a), value, bytes);
	message.header.nlmsg_len = NLMSG_ALIGN(message.header.nlmsg_len) + RTA_ALIGN(a->rta_len);
	return a;
}

/* Sends the message, and writes the kernel's error number (0 = none) and error text. */
static void ask(const char *what)
{
	char answer[4096];
	struct nlmsghdr *header = (struct nlmsghdr *)answer;
	struct nlmsgerr *error = NLMSG_DATA(header);
	const char *words = "";
	ssize_t bytes;

	if (send(netlink, &message, message.header.nlmsg_len, 0) < 0)
		_exit(10);
	bytes = recv(netlink, answer, sizeof(answer), 0);
	if (bytes < (ssize_t)NLMSG_LENGTH(sizeof(*error)) || header->nlmsg_type != NLMSG_ERROR)
		_exit(11);
	/* With NETLINK_CAP_ACK, the answer contains only the header of the request */
	for (struct nlattr *a = (struct nlattr *)(error + 1); (char *)(a + 1) <= answer + bytes && a->nla_len >= NLA_HDRLEN;
	     a = (struct nlattr *)((char *)a + NLA_ALIGN(a->nla_len)))
		if ((a->nla_type & NLA_TYPE_MASK) == NLMSGERR_ATTR_MSG)
			words = (char *)a + NLA_HDRLEN;
	note("%s[\"%s\", %d, \"%s\"]", end[end_bytes - 1] == '[' ? "" : ", ", what, -error->error, words);
}

static void begin(const char *kind, uint32_t handle, uint32_t parent, int flags)
{
	memset(&message, 0, sizeof(message));
	message.header.nlmsg_len = NLMSG_LENGTH(sizeof(message.tc));
	message.header.nlmsg_type = RTM_NEWQDISC;
	message.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | flags;
	message.tc.tcm_ifindex = LOOPBACK;
	message.tc.tcm_handle = handle;
	message.tc.tcm_parent = parent;
	attribute(TCA_KIND, kind, strlen(kind) + 1);
}

enum { MAKE = NLM_F_CREATE | NLM_F_REPLACE, CHANGE = 0 };

/*
 * The arguments are pairs of an option and its value, and a 0 ends them. The values of RATE_BPS and CAPACITY have 64
 * bits; CAPACITY gets one row, which is valid from time 0 on.
 */
static void leolink(const char *what, int flags, ...)
{
	struct rtattr *options;
	va_list pairs;
	int option;

	begin("leolink", 0x10000, TC_H_ROOT, flags);
	options = attribute(TCA_OPTIONS | NLA_F_NESTED, NULL, 0);
	va_start(pairs, flags);
	while ((option = va_arg(pairs, int))) {
		uint64_t row[3] = { 0, va_arg(pairs, uint64_t), 0 };
		uint32_t word = (uint32_t)row[1];

		if (option == CAPACITY)
			attribute(option, row, sizeof(row));
		else if (option == RATE_BPS)
			attribute(option, &row[1], sizeof(row[1]));
		else
			attribute(option, &word, sizeof(word));
	}
	va_end(pairs);
	options->rta_len = (char *)&message + message.header.nlmsg_len - (char *)options;
	ask(what);
}

static void offer(int packets)
{
	static const char payload[PAYLOAD_BYTES];

	while (packets--)
		sendto(udp, payload, sizeof(payload), 0, (struct sockaddr *)&here, sizeof(here));
}

/*
 * Writes five numbers: waiting packets, waiting bytes, delivered packets, packets dropped at the queue, and held
 * packets.
 */
static void count(const char *what)
{
	uint64_t record[RECORD_BYTES / 8];
	int file = open("/proc/leolink/links", O_RDONLY);

	if (file < 0 || read(file, record, sizeof(record)) != sizeof(record) || close(file))
		_exit(12);
	note(", [\"%s\", %u, %lu, %lu, %lu, %lu]", what, ((uint32_t *)record)[1], record[1], record[5], record[7], record[13]);
}

static void prepare(void)
{
	struct ifreq request = { .ifr_name = "lo" };
	int yes = 1;

	mkdir("/host", 0755);
	mkdir("/proc", 0755);
	if (mount("none", "/host", "hostfs", 0, NULL) || mount("none", "/proc", "proc", 0, NULL))
		_exit(5);
	udp = socket(AF_INET, SOCK_DGRAM, 0);
	netlink = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
	request.ifr_flags = IFF_UP;
	if (udp < 0 || netlink < 0 || ioctl(udp, SIOCSIFFLAGS, &request) ||
	    setsockopt(netlink, SOL_NETLINK, NETLINK_EXT_ACK, &yes, sizeof(yes)) ||
	    setsockopt(netlink, SOL_NETLINK, NETLINK_CAP_ACK, &yes, sizeof(yes)))
		_exit(6);
	/*
	 * the destination is this host itself, because a packet without a receiver would cause an ICMP answer over the
	 * same link
	 */
	here.sin_port = htons(9);
	here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (bind(udp, (struct sockaddr *)&here, sizeof(here)))
		_exit(7);
}

int main(void)
{
	int file;

	prepare();
	end_bytes = strlen(end);
	leolink("overtaking without a limit", MAKE, RATE_BPS, 8000UL, IN_ORDER, 0UL, 0);
	leolink("overtaking, limit 4", MAKE, RATE_BPS, 8000UL, IN_ORDER, 0UL, LIMIT_PKTS, 4UL, 0);
	offer(10);
	count("10 offered");
	leolink("limit 0", CHANGE, LIMIT_PKTS, 0UL, 0);
	leolink("limit 65537", CHANGE, LIMIT_PKTS, 65537UL, 0);
	leolink("in order again, while packets are held", CHANGE, IN_ORDER, 1UL, 0);
	leolink("limit 8", CHANGE, LIMIT_PKTS, 8UL, 0);
	offer(10);
	count("10 more");
	leolink("limit 2", CHANGE, LIMIT_PKTS, 2UL, 0);
	offer(1);
	count("1 more");
	usleep(142000 * 3 + 71000);
	count("after 3 and a half transmissions");
	sleep(2);
	count("at the end");
	leolink("in order, limit 0", CHANGE, IN_ORDER, 1UL, LIMIT_PKTS, 0UL, 0);
	offer(3);
	count("3 in order");
	leolink("rate and capacity at once", CHANGE, RATE_BPS, 16000UL, CAPACITY, 8000UL, 0);
	sleep(1);
	begin("pfifo", 0x20000, 0x10001, MAKE);
	ask("a child");
	leolink("a limit that the child has", CHANGE, LIMIT_PKTS, 9UL, 0);
	note("]}\n");
	file = open("/host/out/end.json", O_CREAT | O_WRONLY | O_TRUNC, 0644);
	if (file < 0 || write(file, end, end_bytes) < 0 || close(file))
		return 4;
	sync();
	reboot(RB_POWER_OFF);
}

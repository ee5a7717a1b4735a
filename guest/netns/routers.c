// SPDX-License-Identifier: GPL-2.0-only
/*
 * Network namespaces for nodes that only forward packets. The namespace of such a node has no directories in
 * /proc/sys/net and /sys/class/net.
 *
 * Before working on this file, read net/sysctl_net.c, net/core/net-sysfs.c and setup_net of net/core/net_namespace.c.
 *
 * An ordinary namespace has directories for itself, for each of its interfaces, and for the queues of each interface.
 * No program reads the directories of a satellite. With thousands of satellites, creating the directories of their
 * namespaces took half of the time and a third of the memory (design/direct.md). Creating directories was slow because
 * the cache of /proc/sys keeps the directories of all namespaces under one hash value. Each new directory was therefore
 * compared with all earlier ones.
 *
 * After "router" is written to /proc/leolink/namespaces, new namespaces are router namespaces, without directories in
 * /proc/sys/net and /sys/class/net. After "host" is written, new namespaces are ordinary ones. In a router's namespace,
 * early demultiplexing (net.ipv4.ip_early_demux) is off, because it would search for a local socket for each packet.
 *
 * The kernel is linked with --wrap for each of the functions below (guest/build.sh).
 */
#include <linux/device.h>
#include <linux/init.h>
#include <linux/netdevice.h>
#include <linux/proc_fs.h>
#include <linux/slab.h>
#include <linux/sysctl.h>
#include <linux/uaccess.h>
#include <linux/version.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
typedef struct ctl_table parameters;
#else
typedef const struct ctl_table parameters;
#endif

struct ctl_table_header *__real_register_net_sysctl_sz(struct net *net, const char *path, parameters *table,
						       size_t count);
struct ctl_table_header *__wrap_register_net_sysctl_sz(struct net *net, const char *path, parameters *table,
						       size_t count);
void __real_unregister_net_sysctl_table(struct ctl_table_header *header);
void __wrap_unregister_net_sysctl_table(struct ctl_table_header *header);
int __real_netdev_register_kobject(struct net_device *dev);
int __wrap_netdev_register_kobject(struct net_device *dev);
void __real_netdev_unregister_kobject(struct net_device *dev);
void __wrap_netdev_unregister_kobject(struct net_device *dev);
int __real_netdev_queue_update_kobjects(struct net_device *dev, int old_count, int new_count);
int __wrap_netdev_queue_update_kobjects(struct net_device *dev, int old_count, int new_count);
int __real_net_rx_queue_update_kobjects(struct net_device *dev, int old_count, int new_count);
int __wrap_net_rx_queue_update_kobjects(struct net_device *dev, int old_count, int new_count);
void __real_linkwatch_fire_event(struct net_device *dev);
void __wrap_linkwatch_fire_event(struct net_device *dev);

struct namespace {
	bool is_router;
};

static unsigned int namespace_id;	/* 0 = not known yet */
static bool next_is_router;

static bool is_router(const struct net *net)
{
	return namespace_id && ((const struct namespace *)net_generic(net, namespace_id))->is_router;
}

/*
 * In a router's namespace, returns a header that the kernel has in none of its tables. The header contains the caller's
 * table (`ctl_table_arg`), which the caller reads later.
 */
struct ctl_table_header *__wrap_register_net_sysctl_sz(struct net *net, const char *path, parameters *table,
						       size_t count)
{
	struct ctl_table_header *header;

	if (!is_router(net))
		return __real_register_net_sysctl_sz(net, path, table, count);
	header = kzalloc(sizeof(*header), GFP_KERNEL);
	if (header)
		header->ctl_table_arg = table;
	return header;
}

void __wrap_unregister_net_sysctl_table(struct ctl_table_header *header)
{
	if (header && !header->set)
		kfree(header);
	else
		__real_unregister_net_sysctl_table(header);
}

/* Same as netdev_release of net-sysfs.c. */
static void release(struct device *device)
{
	struct net_device *dev = to_net_dev(device);

	kfree(rcu_access_pointer(dev->ifalias));
	kvfree(dev);
}

/* In a router's namespace, the device counts its references as usual, but is not listed in /sys. */
int __wrap_netdev_register_kobject(struct net_device *dev)
{
	if (!is_router(dev_net(dev)))
		return __real_netdev_register_kobject(dev);
	device_initialize(&dev->dev);
	dev->dev.release = release;
	return 0;
}

void __wrap_netdev_unregister_kobject(struct net_device *dev)
{
	/* takes a reference, as the kernel's own function does, because netdev_run_todo will drop one */
	if (is_router(dev_net(dev)))
		kobject_get(&dev->dev.kobj);
	else
		__real_netdev_unregister_kobject(dev);
}

int __wrap_netdev_queue_update_kobjects(struct net_device *dev, int old_count, int new_count)
{
	return is_router(dev_net(dev)) ? 0 : __real_netdev_queue_update_kobjects(dev, old_count, new_count);
}

int __wrap_net_rx_queue_update_kobjects(struct net_device *dev, int old_count, int new_count)
{
	return is_router(dev_net(dev)) ? 0 : __real_net_rx_queue_update_kobjects(dev, old_count, new_count);
}

/*
 * The kernel updates the carrier state of a veth end with a delay: it processes a hundred devices per second. In each
 * round, the kernel goes through the list of all devices that wait for an update. No update is needed, because the
 * agent sets up every veth end such that its carrier state is already correct (message::up_again). In a router's
 * namespace, an update of the carrier state would only set the operstate of the device.
 */
void __wrap_linkwatch_fire_event(struct net_device *dev)
{
	if (!is_router(dev_net(dev)))
		__real_linkwatch_fire_event(dev);
}

static int __net_init begin_namespace(struct net *net)
{
	((struct namespace *)net_generic(net, namespace_id))->is_router = next_is_router;
	return 0;
}

/* When a namespace is created, this operation runs before the kernel registers the namespace's tables and devices */
static struct pernet_operations first_operations = {
	.init	= begin_namespace,
	.id	= &namespace_id,
	.size	= sizeof(struct namespace),
};

static int __net_init finish_namespace(struct net *net)
{
	if (is_router(net))
		net->ipv4.sysctl_ip_early_demux = 0;
	return 0;
}

/* Runs after the kernel has set the initial IPv4 values of a new namespace */
static struct pernet_operations last_operations = { .init = finish_namespace };

static ssize_t namespaces_write(struct file *f, const char __user *from, size_t size, loff_t *pos)
{
	char word[8] = "";

	if (size >= sizeof(word))
		return -EINVAL;
	if (copy_from_user(word, from, size))
		return -EFAULT;
	if (strcmp(word, "router") && strcmp(word, "host"))
		return -EINVAL;
	next_is_router = word[0] == 'r';
	return size;
}

static const struct proc_ops namespaces_ops = { .proc_write = namespaces_write };

static int __init routers_first(void)
{
	return register_pernet_subsys(&first_operations);
}
core_initcall(routers_first);

/* Runs after leolink has created the directory /proc/leolink */
static int __init routers_register(void)
{
	int err = register_pernet_subsys(&last_operations);

	if (err)
		return err;
	return proc_create("leolink/namespaces", 0200, NULL, &namespaces_ops) ? 0 : -ENOMEM;
}
late_initcall(routers_register);

/* SPDX-License-Identifier: Apache-2.0 */
#include "exec/sandbox/filter.h"

#include <errno.h>
#include <linux/sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

static const char *const refused[] = {
	/* other processes */
	"ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "kcmp", "pidfd_getfd",
	/* namespaces and mounts */
	"unshare", "setns", "mount", "umount", "umount2", "pivot_root", "chroot", "move_mount", "open_tree",
	"fsopen", "fsconfig", "fsmount", "fspick", "mount_setattr",
	/* keys of the kernel; handles that walk around paths */
	"keyctl", "add_key", "request_key", "open_by_handle_at", "name_to_handle_at",
	/* large doors into the kernel */
	"bpf", "perf_event_open", "userfaultfd", "fanotify_init", "lookup_dcookie", "quotactl", "quotactl_fd",
	"modify_ldt", "personality", "vmsplice", "uselib", "nfsservctl", "_sysctl", "sysfs", "ustat",
	/* the machine itself */
	"kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module", "create_module",
	"query_module", "get_kernel_syms", "reboot", "swapon", "swapoff", "acct", "syslog", "iopl", "ioperm",
	"settimeofday", "clock_settime", "clock_adjtime", "adjtimex", "stime", "sethostname", "setdomainname",
	"vhangup", "mbind", "set_mempolicy", "migrate_pages", "move_pages", NULL
};

/* Callers do without these when they are told that they do not exist. clone3 has its flags behind a pointer, where a
 * filter cannot look: libraries use clone then. */
static const char *const missing[] = { "clone3", "io_uring_setup", "io_uring_enter", "io_uring_register",
	NULL };

static bool
refuse_all(scmp_filter_ctx f, const char *const *names, int error)
{
	for (size_t i = 0; names[i]; i++) {
		int number = seccomp_syscall_resolve_name(names[i]);

		if (number == __NR_SCMP_ERROR || number < 0) /* not of this architecture */
			continue;
		if (seccomp_rule_add(f, SCMP_ACT_ERRNO((unsigned)error), number, 0) != 0)
			return false;
	}
	return true;
}

static bool
refuse_namespaces(scmp_filter_ctx f)
{
	static const uint64_t flags[] = { CLONE_NEWNS, CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC,
		CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET };

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		if (seccomp_rule_add(f, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1,
#if defined(__s390x__)
			    SCMP_A1(SCMP_CMP_MASKED_EQ, flags[i], flags[i])
#else
			    SCMP_A0(SCMP_CMP_MASKED_EQ, flags[i], flags[i])
#endif
				    ) != 0)
			return false;
	return true;
}

/* A terminal that would take what a program writes for typed; the kernel looks at 32 bits of the number. */
static bool
refuse_terminals(scmp_filter_ctx f)
{
	static const uint64_t calls[] = { TIOCSTI, TIOCLINUX };

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (seccomp_rule_add(f, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(ioctl), 1,
			    SCMP_A1(SCMP_CMP_MASKED_EQ, 0xffffffffu, calls[i])) != 0)
			return false;
	return true;
}

/* Unix, IPv4, IPv6, and of netlink the question which addresses there are: everything else is none here. */
static bool
refuse_sockets(scmp_filter_ctx f)
{
	for (uint64_t family = 0; family < AF_NETLINK; family++)
		if (family != AF_UNIX && family != AF_INET && family != AF_INET6 &&
			seccomp_rule_add(f, SCMP_ACT_ERRNO(EAFNOSUPPORT), SCMP_SYS(socket), 1,
				SCMP_A0(SCMP_CMP_EQ, family)) != 0)
			return false;
	return seccomp_rule_add(f, SCMP_ACT_ERRNO(EAFNOSUPPORT), SCMP_SYS(socket), 1,
		       SCMP_A0(SCMP_CMP_GT, AF_NETLINK)) == 0 &&
	       seccomp_rule_add(f, SCMP_ACT_ERRNO(EAFNOSUPPORT), SCMP_SYS(socket), 2,
		       SCMP_A0(SCMP_CMP_EQ, AF_NETLINK), SCMP_A2(SCMP_CMP_NE, 0)) == 0;
}

static bool
write_filter(scmp_filter_ctx f, int fd)
{
	return refuse_all(f, refused, EPERM) && refuse_all(f, missing, ENOSYS) && refuse_namespaces(f) &&
	       refuse_terminals(f) && refuse_sockets(f) && seccomp_export_bpf(f, fd) == 0 &&
	       lseek(fd, 0, SEEK_SET) == 0;
}

status
filter_open(struct ctx *cx, int *out_fd)
{
	int fd = memfd_create("seccomp", MFD_CLOEXEC);
	scmp_filter_ctx f = seccomp_init(SCMP_ACT_ALLOW);
	bool done = fd >= 0 && f && write_filter(f, fd);

	if (f)
		seccomp_release(f);
	if (!done && fd >= 0)
		(void)close(fd);
	if (!done)
		return fail(cx, E_UNAVAILABLE,
			"the filter of system calls (seccomp) cannot be made, so no program is started in a "
			"sandbox");
	*out_fd = fd;
	return OK;
}

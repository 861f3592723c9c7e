#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <cerrno>
#include <csignal>
#include <initializer_list>

#include "sandbox/internal.h"

namespace assay::sandbox {
namespace {

/// One reason, and the system calls refused for it, whatever their arguments. SCMP_SYS() of a call
/// that an architecture lacks is negative and skipped; calls newer than libseccomp are numbers, the
/// same on all architectures.
struct Group {
  const char* reason;
  std::initializer_list<int> calls;
};

constexpr int kMemfdSecret = 447, kStatmount = 457, kListmount = 458, kOpenTreeAttr = 467;

const Group kRefused[] = {
    {"reads or steers other processes",
     {SCMP_SYS(ptrace), SCMP_SYS(process_vm_readv), SCMP_SYS(process_vm_writev), SCMP_SYS(kcmp),
      SCMP_SYS(pidfd_getfd), SCMP_SYS(process_madvise), SCMP_SYS(process_mrelease)}},
    {"changes the mount tree or the root",
     {SCMP_SYS(mount), SCMP_SYS(umount), SCMP_SYS(umount2), SCMP_SYS(pivot_root), SCMP_SYS(chroot),
      SCMP_SYS(move_mount), SCMP_SYS(open_tree), kOpenTreeAttr, SCMP_SYS(fsopen), SCMP_SYS(fspick),
      SCMP_SYS(fsmount), SCMP_SYS(fsconfig), SCMP_SYS(mount_setattr), kStatmount, kListmount}},
    {"enters namespaces, whose own root reaches kernel code that users otherwise cannot",
     {SCMP_SYS(unshare), SCMP_SYS(setns)}},
    {"opens files by handle, past the path checks",
     {SCMP_SYS(name_to_handle_at), SCMP_SYS(open_by_handle_at)}},
    {"kernel keyrings are not namespaced",
     {SCMP_SYS(keyctl), SCMP_SYS(add_key), SCMP_SYS(request_key)}},
    {"large attack surface that kernels for a GPU do not need",
     {SCMP_SYS(bpf), SCMP_SYS(perf_event_open), SCMP_SYS(userfaultfd), SCMP_SYS(io_uring_setup),
      SCMP_SYS(io_uring_enter), SCMP_SYS(io_uring_register), SCMP_SYS(fanotify_init),
      SCMP_SYS(lookup_dcookie), SCMP_SYS(nfsservctl), SCMP_SYS(modify_ldt), SCMP_SYS(vm86),
      SCMP_SYS(vm86old), SCMP_SYS(uselib), SCMP_SYS(_sysctl)}},
    {"changes the kernel or the machine",
     {SCMP_SYS(init_module), SCMP_SYS(finit_module), SCMP_SYS(delete_module),
      SCMP_SYS(create_module), SCMP_SYS(kexec_load), SCMP_SYS(kexec_file_load), SCMP_SYS(reboot),
      SCMP_SYS(swapon), SCMP_SYS(swapoff), SCMP_SYS(quotactl), SCMP_SYS(quotactl_fd),
      SCMP_SYS(acct), SCMP_SYS(syslog), SCMP_SYS(vhangup), SCMP_SYS(iopl), SCMP_SYS(ioperm),
      SCMP_SYS(sethostname), SCMP_SYS(setdomainname)}},
    {"moves the clocks that times are taken from",
     {SCMP_SYS(settimeofday), SCMP_SYS(clock_settime), SCMP_SYS(clock_settime64),
      SCMP_SYS(clock_adjtime), SCMP_SYS(clock_adjtime64), SCMP_SYS(adjtimex), SCMP_SYS(stime)}},
    {"makes memory that belongs to no process, so that nobody can say whose it is",
     {SCMP_SYS(memfd_create), kMemfdSecret, SCMP_SYS(shmget), SCMP_SYS(msgget)}},
    {"sets a scheduling class through a structure that a filter cannot read",
     {SCMP_SYS(sched_setattr)}},
    {"ways to have the kernel send a signal of one's choice, SIGCONT for example, to a stopped "
     "process",
     {SCMP_SYS(timer_create), SCMP_SYS(mq_notify)}},
};

constexpr uint64_t kLow32 = 0xffffffff;

/// Collects rules and keeps the first failure.
class Filter {
 public:
  Filter() : context_(::seccomp_init(SCMP_ACT_ALLOW)) {}
  ~Filter() {
    if (context_ != nullptr) ::seccomp_release(context_);
  }
  Filter(const Filter&) = delete;
  Filter& operator=(const Filter&) = delete;

  void Attribute(scmp_filter_attr attribute, uint32_t value) {
    if (error_ == 0) error_ = ::seccomp_attr_set(context_, attribute, value);
  }
  void Refuse(int call, int error_number) { Add(call, error_number, {}); }
  void RefuseIf(int call, std::initializer_list<scmp_arg_cmp> conditions) {
    Add(call, EPERM, conditions);
  }
  /// 0 or a negative errno.
  int Load() {
    if (context_ == nullptr) return -ENOMEM;
    return error_ != 0 ? error_ : ::seccomp_load(context_);
  }

 private:
  void Add(int call, int error_number, std::initializer_list<scmp_arg_cmp> conditions) {
    if (call < 0 || error_ != 0) return;
    error_ = ::seccomp_rule_add_array(context_, SCMP_ACT_ERRNO(static_cast<uint32_t>(error_number)),
                                      call, static_cast<unsigned>(conditions.size()),
                                      conditions.begin());
  }

  scmp_filter_ctx context_;
  int error_ = 0;
};

scmp_arg_cmp Equal32(unsigned argument, uint64_t value) {
  // The kernel reads 32 bits of such an argument: the others must not hide it.
  return scmp_arg_cmp{argument, SCMP_CMP_MASKED_EQ, kLow32, value};
}
scmp_arg_cmp SharedAnonymous(unsigned argument) {
  return {argument, SCMP_CMP_MASKED_EQ, MAP_TYPE | MAP_ANONYMOUS, MAP_SHARED | MAP_ANONYMOUS};
}

scmp_arg_cmp Differs(unsigned argument, uint64_t value) {
  return scmp_arg_cmp{argument, SCMP_CMP_NE, value, 0};
}
scmp_arg_cmp HasBits(unsigned argument, uint64_t bits) {
  return scmp_arg_cmp{argument, SCMP_CMP_MASKED_EQ, bits, bits};
}

void RefuseByArgument(bool loopback, Filter* filter) {
  // Namespaces through clone; CLONE_PARENT would make the worker, not the candidate, the parent.
  for (const uint64_t flag :
       {uint64_t{CLONE_NEWUSER}, uint64_t{CLONE_NEWPID}, uint64_t{CLONE_NEWNS},
        uint64_t{CLONE_NEWNET}, uint64_t{CLONE_NEWIPC}, uint64_t{CLONE_NEWUTS},
        uint64_t{CLONE_NEWCGROUP}, uint64_t{CLONE_PARENT}})
    filter->RefuseIf(SCMP_SYS(clone), {HasBits(0, flag)});
  // Its flags are behind a pointer. On ENOSYS the C library falls back to clone.
  filter->Refuse(SCMP_SYS(clone3), ENOSYS);

  // Only Unix sockets: no network, netlink, packet, vsock (which no namespace holds) or crypto; and
  // IPv4, the next number, where nobody else can be reached by it.
  static_assert(AF_UNSPEC == 0 && AF_UNIX == 1 && AF_INET == 2);
  filter->RefuseIf(SCMP_SYS(socket),
                   {loopback ? scmp_arg_cmp{0, SCMP_CMP_GT, AF_INET, 0} : Differs(0, AF_UNIX)});
  filter->RefuseIf(SCMP_SYS(socketpair), {Differs(0, AF_UNIX)});

  // Pushing input into a terminal it might share.
  filter->RefuseIf(SCMP_SYS(ioctl), {Equal32(1, TIOCSTI)});
  filter->RefuseIf(SCMP_SYS(ioctl), {Equal32(1, TIOCLINUX)});

  // Asking is allowed; changing turns protections such as address randomisation off.
  filter->RefuseIf(SCMP_SYS(personality), {Differs(0, 0xffffffff)});

  // Real-time classes starve the worker's clock. The mask leaves out SCHED_RESET_ON_FORK.
  for (const uint64_t policy : {1u /*FIFO*/, 2u /*RR*/, 6u /*DEADLINE*/})
    filter->RefuseIf(SCMP_SYS(sched_setscheduler), {{1, SCMP_CMP_MASKED_EQ, 0xff, policy}});

  // The candidate dies with the worker and must not be able to change that.
  // A CPU limit ends in SIGKILL, which would look as if it came from outside.
  filter->RefuseIf(SCMP_SYS(setrlimit), {Equal32(0, RLIMIT_CPU)});
  filter->RefuseIf(SCMP_SYS(prlimit64), {Equal32(1, RLIMIT_CPU), Differs(2, 0)});
  filter->RefuseIf(SCMP_SYS(prctl), {Equal32(0, PR_SET_PDEATHSIG), Differs(1, SIGKILL)});
  filter->RefuseIf(SCMP_SYS(fcntl), {Equal32(1, F_SETSIG)});
  // The signal of a child's end, chosen at clone(): none, or SIGCHLD, or (vfork) that as well.
  filter->RefuseIf(SCMP_SYS(clone), {{0, SCMP_CMP_MASKED_EQ, 0xff, SIGCONT}});
}

}  // namespace

void RestrictSystemCalls(const SandboxSpec& spec, SandboxReport* report) {
  Filter filter;
  // Other ABIs of the same processor (i386, x32) number their calls differently.
  filter.Attribute(SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(EPERM));
  // No speculation barrier on every return to user space: it would slow the candidate down.
  filter.Attribute(SCMP_FLTATR_CTL_SSB, 1);
  filter.Attribute(SCMP_FLTATR_CTL_OPTIMIZE, 2);
  for (const Group& group : kRefused)
    for (const int call : group.calls) filter.Refuse(call, EPERM);
  RefuseByArgument(report->loopback, &filter);
  // Shared memory without a file: a page that is given back is resident nowhere, and stays. The
  // driver of a GPU makes some.
  if (spec.devices.empty()) filter.RefuseIf(SCMP_SYS(mmap), {SharedAnonymous(3)});
  if (const int error = filter.Load(); error != 0) return Miss(report, "seccomp", "filter", -error);
  report->seccomp = true;
}

}  // namespace assay::sandbox

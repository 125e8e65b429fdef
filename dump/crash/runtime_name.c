/* SPDX-License-Identifier: BSD-2-Clause */
/* Tables of names, as patterns. */
#include "dump/crash/runtime_name.h"

#include <string.h>

#include "query/glob.h"

static bool matches_any(const char *const *patterns, const char *text)
{
	const size_t size = strlen(text);

	for (; *patterns; patterns++)
		if (query_glob(*patterns, text, size, NULL))
			return true;
	return false;
}

static const char *const images[] = {"libc.so*", "libc-2*",       "libpthread*", "ld-linux*",  "ld-2*",
				     "ld-musl*", "libstdc++.so*", "libgcc_s*",   "libc++.so*", "libc++abi*",
				     "[vdso]",   "libstd-*.so",   NULL};

static const char *const starts[] = {"_start",
				     "_start_c",
				     "__libc_start_main*",
				     "__libc_start_call_main*",
				     "start_thread",
				     "clone",
				     "clone3",
				     "__clone*",
				     "_dl_start*",
				     NULL};

static const char *const exits[] = {"exit",       "_exit",     "_Exit",      "quick_exit",    "__run_exit_handlers",
				    "exit_group", "__GI_exit", "__GI__exit", "runtime.exit*", "std::process::exit*",
				    NULL};

static const char *const senders[] = {"abort",
				      "__GI_abort",
				      "raise",
				      "__GI_raise",
				      "gsignal",
				      "tgkill",
				      "kill",
				      "pthread_kill*",
				      "__pthread_kill*",
				      "runtime.raise*",
				      "runtime.dieFromSignal*",
				      NULL};

static const char *const locks[] = {"pthread_mutex_*lock*",
				    "__pthread_mutex_*lock*",
				    "___pthread_mutex_*lock*",
				    "pthread_rwlock_*lock*",
				    "__pthread_rwlock_*lock*",
				    "___pthread_rwlock_*lock*",
				    "pthread_spin_lock*",
				    "*lll_lock_wait*",
				    "std::mutex::lock*",
				    "std::*::Mutex*::lock*",
				    NULL};

/* Functions of static programs, and code that compilers put into programs. */
static const char *const runtimes[] = {"__assert*",
				       "__libc_*",
				       "__stack_chk_fail*",
				       "__fortify_fail*",
				       "__chk_fail*",
				       "std::*",
				       "__cxa_*",
				       "__gnu_cxx::*",
				       "__gxx_*",
				       "_Unwind_*",
				       "pthread_mutex_*lock*",
				       "__pthread_mutex_*lock*",
				       "___pthread_mutex_*lock*",
				       "pthread_cond_*wait*",
				       "__pthread_cond_*wait*",
				       "___pthread_cond_*wait*",
				       "pthread_join*",
				       "__pthread_*join*",
				       "__lll_lock*",
				       "__futex*",
				       "futex_*",
				       "core::*",
				       "alloc::*",
				       "<core::*",
				       "<alloc::*",
				       "<std::*",
				       "rust_*",
				       "__rust*",
				       "_rust*",
				       "<* as core::*",
				       "<* as std::*",
				       "runtime.*",
				       "internal/runtime*",
				       NULL};

static const struct {
	const char *pattern;
	uint32_t exit_status; /* of a process that nothing rescues; 0: the process dies of a signal */
} raises[] = {
	/* Go and Rust */
	{"*rust_panic", 101},
	{"*panic_with_hook", 101},
	{"runtime.gopanic", 2},
	{"runtime.throw", 2},
	{"runtime.fatal", 2},
	/* C++ */
	{"__cxa_throw", 0},
	{"__cxa_rethrow", 0},
};

static const struct {
	const char *pattern, *reason;
} reasons[] = {
	{"__assert*", "a failed assertion"},
	{"__stack_chk_fail*", "a buffer on the stack overflowed"},
	{"__fortify_fail*", "a buffer overflowed"},
	{"__chk_fail*", "a buffer overflowed"},
	{"std::terminate*", "std::terminate was called"},
	{"__cxa_*throw", "an exception that nothing catches"},
	{"std::__throw_*", "an exception that nothing catches"},
	{"__cxa_pure_virtual*", "a call of a pure virtual function"},
	{"core::panicking::*", "a panic"},
	{"core::option::*", "a panic"},
	{"core::result::*", "a panic"},
	{"std::panicking::*", "a panic"},
	{"*rust_*panic*", "a panic"},
	{"runtime.gopanic", "a panic"},
	{"runtime.panic*", "a panic"},
	{"runtime.goPanic*", "a panic"},
	{"runtime.sigpanic*", "a panic"},
	{"runtime.throw", "an error of the Go run time"},
	{"runtime.fatal*", "an error of the Go run time"},
	{"abort", "abort was called"},
	{"raise", "raise was called"},
	{"gsignal", "raise was called"},
	{"exit", "exit was called"},
	{"_exit", "_exit was called"},
	{"_Exit", "_Exit was called"},
};

bool dump_crash_is_start(const char *name)
{
	return matches_any(starts, name);
}

bool dump_crash_is_exit(const char *name)
{
	return matches_any(exits, name);
}

bool dump_crash_sends_signal(const char *name)
{
	return matches_any(senders, name);
}

bool dump_crash_is_lock(const char *name)
{
	return matches_any(locks, name);
}

bool dump_crash_is_runtime(const char *name, const char *image)
{
	return matches_any(images, image) || matches_any(runtimes, name) || dump_crash_is_start(name) ||
	       dump_crash_is_exit(name) || dump_crash_sends_signal(name);
}

bool dump_crash_raises(const struct analysis_function *function)
{
	for (size_t i = 0; i < sizeof(raises) / sizeof(raises[0]); i++)
		if (query_glob(raises[i].pattern, function->name, strlen(function->name), NULL))
			return true;
	return false;
}

bool dump_crash_raise_exits(const char *name, uint32_t exit_status)
{
	for (size_t i = 0; i < sizeof(raises) / sizeof(raises[0]); i++)
		if (exit_status && raises[i].exit_status == exit_status &&
		    query_glob(raises[i].pattern, name, strlen(name), NULL))
			return true;
	return false;
}

const char *dump_crash_reason(const char *name)
{
	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
		if (query_glob(reasons[i].pattern, name, strlen(name), NULL))
			return reasons[i].reason;
	return NULL;
}

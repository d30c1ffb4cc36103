"""Each diagnosis that the program can make: the tests that make a real program die or hang so, and where it stays silent.

Each row: of a living process, of a core file, the near miss. A test is named by its folder and file and the word by
which it, or the program that it runs, has the case; what a living process or a core cannot have is a sentence.
"""
DIES = "who has died is not alive"
GOES_ON = "faults/test_faults.py python_handler_that_loops"
NO_CORE = "the kernel writes none"
BELOW = "faults/test_faults.py no_fault_below_a_handler"
OLD_TEXT = "aborts/test_aborts.py old_text"
LIVE_ONLY = "a core file does not have what a descriptor is"

FAULTS, ABORTS, WAITS = "faults/test_faults.py ", "aborts/test_aborts.py ", "stacks/test_waits.py "
FREE = "diagnose/test_free_threaded.py "
KNOTS, TASKS = "diagnose/test_thread_deadlocks.py ", "diagnose/test_deadlocks.py "

# enum trace_cause
CAUSES = {
    "null-pointer": (GOES_ON, FAULTS + "null_write", FAULTS + "caught_raise"),
    "wild-pointer": (DIES, FAULTS + "wild", FAULTS + "busy"),
    "freed-memory": (DIES, FAULTS + "freed_python", FAULTS + "text"),
    "stack-overflow": (DIES, FAULTS + "stack_overflow", FAULTS + "null_write"),
    "read-only": (DIES, FAULTS + "code", FAULTS + "none"),
    "no-execute": (DIES, FAULTS + "call_data", FAULTS + "call"),
    "file-truncated": (DIES, FAULTS + "file", FAULTS + "none"),
    "assertion": (DIES, ABORTS + "assert", OLD_TEXT),
    "heap-corruption": (DIES, ABORTS + "double_free", OLD_TEXT),
    "fatal-error": (DIES, ABORTS + "own_text", OLD_TEXT),
    "terminate": (DIES, ABORTS + "runtime_error", ABORTS + "abort_in_catch"),
    "panic": (DIES, "aborts/test_rust.py test_panics", "aborts/test_rust.py abort_without_a_panic"),
    "stack-smashing": (DIES, ABORTS + "smash", OLD_TEXT),
    "fortify": (DIES, ABORTS + "fortify", OLD_TEXT),
    "division": (GOES_ON, FAULTS + "divide", FAULTS + "alarm_fault"),
    "illegal-instruction": (DIES, FAULTS + "undefined", FAULTS + "breakpoint"),
    "seccomp": (DIES, ABORTS + "trap", ABORTS + "kill"),
    "sent": (DIES, ABORTS + "killed_from_outside", ABORTS + "raise"),
    "snapshot": (DIES, "stacks/test_crash.py alive", "stacks/test_crash.py test_headline"),
    "out-of-memory": ("ci/test_ci.py out-of-memory", NO_CORE, "ci/test_ci.py None"),
    "other": (DIES, ABORTS + "abort", FAULTS + "aligned"),
}

# enum c_api_phase: crash.during
PHASES = {
    "finalizer": (DIES, "aborts/test_during.py finalizer", "aborts/test_during.py a_method_that_is_called"),
    "weak_reference": (DIES, "aborts/test_during.py state_weakref_callback", "aborts/test_during.py threads"),
    "callback": (DIES, "aborts/test_during.py callbacks", "aborts/test_during.py exception_handled"),
    "module": (DIES, "aborts/test_during.py test_module", "aborts/test_during.py threads"),
    "collector": (DIES, "aborts/test_during.py state_collector_native", "aborts/test_during.py threads"),
    "end": (DIES, "aborts/test_during.py state_finalizing", "aborts/test_during.py threads"),
}

# enum trace_wait_kind
KINDS = {
    "gil": (KNOTS + "gil_and_mutex", KNOTS + "gil_and_mutex", KNOTS + "gil_and_sleeper"),
    "mutex": (WAITS + "lock_robust", WAITS + "lock_robust", WAITS + "wait_word"),
    "rwlock": (WAITS + "read_written", WAITS + "read_written", WAITS + "write_read"),
    "condition": (WAITS + "wait_condition", WAITS + "wait_condition", WAITS + "enters_condition"),
    "barrier": (WAITS + "wait_barrier", WAITS + "wait_barrier", WAITS + "wait_word"),
    "semaphore": (WAITS + "waits_semaphore", WAITS + "waits_semaphore", WAITS + "waits_unseen"),
    "spin": (KNOTS + "spin", KNOTS + "spin", FAULTS + "busy"),
    "lock": (WAITS + "waits_lock", WAITS + "waits_lock", WAITS + "waits_unseen"),
    "rlock": (WAITS + "waits_rlock", WAITS + "waits_rlock", WAITS + "enters_condition"),
    "event": (WAITS + "waits_event", WAITS + "waits_event", WAITS + "waits_condition"),
    "queue": (WAITS + "waits_get", WAITS + "waits_get", WAITS + "waits_condition"),
    "join": (WAITS + "waits_join", WAITS + "waits_join", WAITS + "wait_word"),
    "python-mutex": (WAITS + "waits_mutex", WAITS + "waits_mutex", WAITS + "waits_join"),
    "stop-the-world": (FREE + "world", FREE + "world", FREE + "sort"),
    "import-lock": (KNOTS + "import_and_join", KNOTS + "import_and_join", KNOTS + "import_each_other"),
    "loader-lock": (KNOTS + "loader", KNOTS + "loader", WAITS + "lock_recursive"),
    "malloc-lock": ("diagnose/test_malloc_lock.py wait_for_other", "diagnose/test_malloc_lock.py wait_for_other",
                    WAITS + "wait_word"),
    "stdio-lock": (WAITS + "use_stream", WAITS + "use_stream", WAITS + "wait_word"),
    "futex": (WAITS + "wait_word", WAITS + "wait_word", WAITS + "lock_plain"),
    "child": (WAITS + "child", WAITS + "child", WAITS + "waits_join"),
    "pipe": (WAITS + "pipe", LIVE_ONLY, WAITS + "counter"),
    "socket": (WAITS + "tcp", WAITS + "tcp", WAITS + "pipe"),
    "terminal": (WAITS + "terminal", LIVE_ONLY, WAITS + "pipe"),
    "file": (WAITS + "mounts", LIVE_ONLY, WAITS + "poll"),
    "file-lock": (WAITS + "flock", WAITS + "flock", WAITS + "pipe"),
    "poll": (WAITS + "epoll", WAITS + "epoll", WAITS + "mounts"),
    "sleep": (WAITS + "sleep", WAITS + "sleep", WAITS + "select"),
    "timer": (WAITS + "timer", LIVE_ONLY, WAITS + "counter"),
    "signal": (WAITS + "sigwait", WAITS + "sigwait", WAITS + "sleep"),
    "io-uring": (KNOTS + "ring", KNOTS + "ring", WAITS + "epoll"),
    "system-call": (WAITS + "counter", WAITS + "counter", WAITS + "timer"),
    "future": (TASKS + "two_futures", TASKS + "two_futures", TASKS + "other_loop"),
    "tasks": ("diagnose/test_task_waits.py wait_for_one", "diagnose/test_task_waits.py wait_for_one",
              TASKS + "first_of_two"),
    "stream": ("diagnose/test_task_waits.py stream", "diagnose/test_task_waits.py stream",
               "diagnose/test_task_waits.py sock_recv"),
}

# enum trace_verdict
VERDICTS = {
    "deadlock": (KNOTS + "rlocks", KNOTS + "rlocks", KNOTS + "running_owner"),
    "likely": (KNOTS + "locks", KNOTS + "locks", KNOTS + "lock_of_a_reader"),
    "stall": (KNOTS + "rlocks_timed", KNOTS + "rlocks_timed", KNOTS + "slow_import"),
}

# enum reason: why one of a cycle waits for the next
REASONS = {
    "held": (KNOTS + "rlocks", KNOTS + "rlocks", KNOTS + "running_owner"),
    "join": (KNOTS + "joins", KNOTS + "joins", KNOTS + "import_each_other"),
    "end": (KNOTS + "pipes", "a core file is of one process", KNOTS + "pipes_of_a_sleeper"),
    "result": (TASKS + "own_loop", TASKS + "own_loop", TASKS + "other_loop"),
    "work": (KNOTS + "import_and_executor", KNOTS + "import_and_executor", TASKS + "busy_pool"),
    "unbegun": (TASKS + "own_loop", TASKS + "own_loop", TASKS + "other_loop"),
    "loop": (TASKS + "executor_and_lock", TASKS + "executor_and_lock", TASKS + "slow_queue"),
    "executor": (TASKS + "full_pool", TASKS + "full_pool", TASKS + "busy_pool"),
    "choice": (TASKS + "full_pool", TASKS + "full_pool", TASKS + "first_of_two"),
}

# Members of crash and waits_for in JSON that say more.
WORDS = {
    "raised_again": (DIES, FAULTS + "below_faulthandler", BELOW),
    "handler_fault": (DIES, FAULTS + "handler_that_faults", FAULTS + "caught"),
    "shared": ("diagnose/test_shared_locks.py locks", "a core file is of one process", "diagnose/test_shared_locks.py copied"),
    "object": (DIES, "faults/test_object_in_hand.py test_object", "faults/test_object_in_hand.py test_none_in_hand"),
}

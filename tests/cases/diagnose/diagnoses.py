"""Each diagnosis that the program can make: the tests that make a real program die or hang so, and where it stays silent.

Each row: of a living process, of a core file, the near miss; a fourth says why a case has fewer than three
interpreters. A test is named by its file, its function and the word by which it, or the program that it runs, has the
case; what a living process or a core cannot have is a sentence.
"""
DIES = "who has died is not alive"
FAULTS, ABORTS = "faults/test_faults.py::test_fault", "aborts/test_aborts.py::"
IN_PYTHON = ABORTS + "test_in_python"
GOES_ON = "faults/test_faults.py::test_python_handler_that_loops null_write"
DIVIDES = "faults/test_faults.py::test_python_handler_that_loops divide"
NO_CORE = "the kernel writes none"
NO_FAULT = "faults/test_faults.py::test_no_fault_below_a_handler"
OLD_TEXT = IN_PYTHON + " old_text"
CRASH, DURING = "stacks/test_crash.py::", "aborts/test_during.py::"
LIVE_ONLY, ONE_PROCESS = "a core file does not have what a descriptor is", "a core file is of one process"
LIVING, CORE = "stacks/test_waits.py::test_living", "stacks/test_waits.py::test_core"
CALLS, CORE_CALLS = LIVING + "_in_system_calls", CORE + "_in_system_calls"
LOCKS = "stacks/test_waits.py::test_locks_in_python"
DEADLOCKS = "diagnose/test_thread_deadlocks.py::"
THREADS, GIL, PROCESSES = DEADLOCKS + "test_threads", DEADLOCKS + "test_the_gil", DEADLOCKS + "test_processes"
TASKS, TASK_WAITS = "diagnose/test_deadlocks.py::test_futures_and_tasks", "diagnose/test_task_waits.py::test_each_task"
FREE = "diagnose/test_free_threaded.py::test_threads"
MALLOC, SHARED = "diagnose/test_malloc_lock.py::test_owner", "diagnose/test_shared_locks.py::test_processes"

# enum trace_cause
CAUSES = {
    "null-pointer": (GOES_ON, FAULTS + " null_write", NO_FAULT + " caught_raise"),
    "wild-pointer": (DIES, FAULTS + " wild", "faults/test_faults.py::test_busy_process_has_no_fault busy"),
    "freed-memory": (DIES, FAULTS + " freed_python", FAULTS + " text"),
    "stack-overflow": (DIES, FAULTS + " deep", FAULTS + " null_write"),
    "read-only": (DIES, FAULTS + " code", FAULTS + " none"),
    "no-execute": (DIES, FAULTS + " call_data", FAULTS + " call"),
    "file-truncated": (DIES, FAULTS + " file", FAULTS + " none"),
    "assertion": (DIES, IN_PYTHON + " assert", OLD_TEXT),
    "heap-corruption": (DIES, IN_PYTHON + " double_free", OLD_TEXT),
    "fatal-error": (DIES, ABORTS + "test_python_gives_up own_text", OLD_TEXT),
    "terminate": (DIES, IN_PYTHON + " runtime_error", ABORTS + "test_abort_alone abort_in_catch"),
    "panic": (DIES, "aborts/test_rust.py::test_panics formatted", "aborts/test_rust.py::test_abort_without_a_panic 11"),
    "stack-smashing": (DIES, IN_PYTHON + " smash", OLD_TEXT),
    "fortify": (DIES, IN_PYTHON + " fortify", OLD_TEXT),
    "division": (DIVIDES, FAULTS + " divide", NO_FAULT + " alarm_fault"),
    "illegal-instruction": (DIES, FAULTS + " undefined", FAULTS + " breakpoint"),
    "seccomp": (DIES, ABORTS + "test_system_calls_of_python trap", ABORTS + "test_system_calls_of_python kill"),
    "sent": (DIES, ABORTS + "test_killed_from_outside wait", ABORTS + "test_abort_alone raise"),
    "snapshot": (DIES, CRASH + "test_a_living_program_did_not_crash alive", CRASH + "test_headline callbacks"),
    "out-of-memory": ("ci/test_ci_deaths.py::test_lack_of_memory out-of-memory", NO_CORE,
                      "ci/test_ci_deaths.py::test_lack_of_memory None", "the kernel alone says it, of any program"),
    "other": (DIES, IN_PYTHON + " abort", FAULTS + " aligned"),
}

# enum c_api_phase: crash.during
PHASES = {
    "finalizer": (DIES, DURING + "test_what_it_was_about finalizer", DURING + "test_a_method_that_is_called __del__"),
    "weak_reference": (DIES, DURING + "test_what_it_was_about state_weakref_callback",
                       DURING + "test_what_it_was_about threads"),
    "callback": (DIES, DURING + "test_what_it_was_about callbacks", DURING + "test_what_it_was_about exception_handled"),
    "module": (DIES, DURING + "test_module import", DURING + "test_module ctypes"),
    "collector": (DIES, DURING + "test_what_it_was_about state_collector_native",
                  DURING + "test_what_it_was_about threads"),
    "end": (DIES, DURING + "test_what_it_was_about state_finalizing", DURING + "test_what_it_was_about threads"),
}

# enum trace_wait_kind
KINDS = {
    "gil": (GIL + " gil_and_mutex", GIL + " gil_and_mutex", GIL + " gil_and_sleeper"),
    "mutex": (LOCKS + " lock_robust", LOCKS + " lock_robust", LOCKS + " wait_word"),
    "rwlock": (LOCKS + " read_written", LOCKS + " read_written", LOCKS + " write_read"),
    "condition": (LIVING + " waits_condition", CORE + " waits_condition", LIVING + " pretends_condition"),
    "barrier": (LIVING + " waits_barrier", CORE + " waits_barrier", LOCKS + " wait_word"),
    "semaphore": (LIVING + " waits_semaphore", CORE + " waits_semaphore", LIVING + " waits_unseen"),
    "spin": (DEADLOCKS + "test_a_spin_lock spin", DEADLOCKS + "test_a_spin_lock spin",
             "faults/test_faults.py::test_busy_process_has_no_fault busy"),
    "lock": (LIVING + " waits_lock", CORE + " waits_lock", LIVING + " left_block"),
    "rlock": (LIVING + " waits_rlock", CORE + " waits_rlock", LIVING + " waits_condition"),
    "event": (LIVING + " waits_event", CORE + " waits_event", LIVING + " waits_condition"),
    "queue": (LIVING + " waits_get", CORE + " waits_get", LIVING + " waits_of_another"),
    "join": (LIVING + " waits_join", CORE + " waits_join", LOCKS + " wait_word"),
    "python-mutex": (LIVING + " waits_mutex", CORE + " waits_mutex", LIVING + " waits_join", "PyMutex is of 3.13 on"),
    "stop-the-world": (FREE + " world", FREE + " world", FREE + " sort", "free-threaded interpreters are of 3.13 on"),
    "import-lock": (THREADS + " import_and_join", THREADS + " import_and_join", THREADS + " import_each_other"),
    "loader-lock": (DEADLOCKS + "test_the_loader loader", DEADLOCKS + "test_the_loader loader", LOCKS + " lock_recursive"),
    "malloc-lock": (MALLOC + " wait_for_other", MALLOC + " wait_for_other", LOCKS + " wait_word"),
    "stdio-lock": (LOCKS + " use_stream", LOCKS + " use_stream", LOCKS + " wait_word"),
    "futex": (LOCKS + " wait_word", LOCKS + " wait_word", LOCKS + " lock_plain"),
    "child": (CALLS + " child", CORE_CALLS + " child", LIVING + " waits_join"),
    "pipe": (CALLS + " fifo", LIVE_ONLY, CALLS + " lease"),
    "socket": (CALLS + " tcp", CORE_CALLS + " tcp", CALLS + " pipe"),
    "terminal": (CALLS + " terminal", LIVE_ONLY, CALLS + " pipe"),
    "file": (CALLS + " mounts", LIVE_ONLY, CALLS + " poll"),
    "file-lock": (CALLS + " flock", CORE_CALLS + " flock", CALLS + " lease"),
    "poll": (CALLS + " epoll", CORE_CALLS + " epoll", CALLS + " mounts"),
    "sleep": (CALLS + " sleep", CORE_CALLS + " sleep", CALLS + " select"),
    "timer": (CALLS + " timer", LIVE_ONLY, CALLS + " counter"),
    "signal": (CALLS + " sigwait", CORE_CALLS + " sigwait", CALLS + " sleep"),
    "io-uring": (DEADLOCKS + "test_a_ring ring", DEADLOCKS + "test_a_ring ring", CALLS + " epoll"),
    "system-call": (CALLS + " counter", CORE_CALLS + " counter", CALLS + " timer"),
    "future": (TASKS + " two_futures", TASKS + " two_futures", TASKS + " other_loop"),
    "tasks": (TASK_WAITS + " wait_for_one", TASK_WAITS + " wait_for_one", TASKS + " first_of_two"),
    "stream": (TASK_WAITS + " stream", TASK_WAITS + " stream", TASK_WAITS + " sock_recv"),
}

# enum trace_verdict
VERDICTS = {
    "deadlock": (THREADS + " rlocks", THREADS + " rlocks", THREADS + " running_owner"),
    "likely": (THREADS + " locks", THREADS + " locks", THREADS + " lock_of_a_reader"),
    "stall": (THREADS + " rlocks_timed", THREADS + " rlocks_timed", THREADS + " slow_import"),
}

# enum reason: why one of a cycle waits for the next
REASONS = {
    "held": (THREADS + " rlocks", THREADS + " rlocks", THREADS + " running_owner"),
    "join": (THREADS + " joins", THREADS + " joins", THREADS + " import_each_other"),
    "end": (PROCESSES + " pipes", ONE_PROCESS, PROCESSES + " pipes_of_a_sleeper"),
    "result": (TASKS + " own_loop", TASKS + " own_loop", TASKS + " other_loop"),
    "work": (THREADS + " import_and_executor", THREADS + " import_and_executor", TASKS + " busy_pool"),
    "unbegun": (TASKS + " own_loop", TASKS + " own_loop", TASKS + " other_loop"),
    "loop": (TASKS + " executor_and_lock", TASKS + " executor_and_lock", TASKS + " slow_queue"),
    "executor": (TASKS + " full_pool", TASKS + " full_pool", TASKS + " busy_pool"),
    "choice": (TASKS + " full_pool", TASKS + " full_pool", TASKS + " first_of_two"),
}

# What looks much like one of these and is none: a living process, a core file.
NEAR_MISSES = {
    "gil_given_up": (GIL + " gil_given_up", GIL + " gil_given_up"),
    "caught_assertion": (ABORTS + "test_living_after_an_assertion", ABORTS + "test_after_an_assertion_that_was_caught other"),
    "fault_after_an_assertion": (DIES, ABORTS + "test_after_an_assertion_that_was_caught fault"),
    "memory_that_is_used_again": ("faults/test_faults.py::test_memory_that_is_used_again reused",
                                  "faults/test_faults.py::test_memory_that_is_used_again reused_as_it_was"),
}

# Words that say more: members of crash and waits_for in JSON, and of sentences.
WORDS = {
    "raised_again": (DIES, "faults/test_faults.py::test_below_faulthandler_of_other_interpreters null_write",
                     NO_FAULT + " alarm"),
    "handler_fault": (DIES, "faults/test_faults.py::test_handler_that_faults fault", NO_FAULT + " caught",
                      "the frames of handlers are the kernel's, alike below all interpreters"),
    "sanitizer": (DIES, ABORTS + "test_address_sanitizer error", ABORTS + "test_address_sanitizer abort"),
    "flipped": (DIES, FAULTS + " flipped", "faults/test_faults.py::test_two_bits flipped_twice"),
    "shared": (SHARED + " locks", ONE_PROCESS, SHARED + " copied"),
    "object": (DIES, "faults/test_object_in_hand.py::test_object item",
               "faults/test_object_in_hand.py::test_none_in_hand elsewhere"),
    "stopped": (CALLS + " stopped", LIVE_ONLY, CALLS + " child"),
    "notified": (LIVING + " notified", CORE + " notified", LIVING + " waits_condition"),
}

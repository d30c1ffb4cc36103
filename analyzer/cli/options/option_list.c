/* The options of a report: the one list of them. */
#include "option_values.h"

static const struct option_spec option_list[] = {
    {"Output:", "format", 0, OPTION_REQUIRED, "FORMAT", "text (default) or json", take_format,
     COMPLETE_CHOICES, format_choices},
    {NULL, NULL, 'o', OPTION_REQUIRED, "FILE", "write there instead of standard output",
     take_output_file, COMPLETE_FILES, NULL},
    {NULL, "output", 0, OPTION_REQUIRED, "FORMAT=FILE", "write FILE as well; may be repeated",
     take_output, COMPLETE_FORMATS, format_choices},
    {NULL, "color", 0, OPTION_REQUIRED, "WHEN", "auto (default), always or never", take_color,
     COMPLETE_CHOICES, color_choices},

    {"What is shown:", "mode", 0, OPTION_REQUIRED, "MODE", "merged (default), python or native",
     take_mode, COMPLETE_CHOICES, mode_choices},
    {NULL, "thread", 0, OPTION_REQUIRED, "WHICH", "all (default), crashed or a thread id",
     take_thread, COMPLETE_CHOICES, thread_choices},
    {NULL, "order", 0, OPTION_REQUIRED, "ORDER", "innermost-first (default) or outermost-first",
     take_order, COMPLETE_CHOICES, order_choices},
    {NULL, "all", 0, OPTION_FLAG, NULL,
     "also the frames that merging hides, marked; each frame of a\n"
     "recursion, names in full",
     take_all, COMPLETE_NOTHING, NULL},
    {NULL, "max-frames", 0, OPTION_REQUIRED, "N",
     "of each thread the N innermost frames, the others are counted\n"
     "(text only)",
     take_max_frames, COMPLETE_NOTHING, NULL},
    {NULL, "no-fold", 0, OPTION_FLAG, NULL, "each frame of a recursion", take_no_fold,
     COMPLETE_NOTHING, NULL},
    {NULL, "all-inlined", 0, OPTION_FLAG, NULL,
     "also inlined calls that take long to look up (large compressed\n"
     "debug information, as of Debian's libc6-dbg)",
     take_all_inlined, COMPLETE_NOTHING, NULL},
    {NULL, "locals", 0, OPTION_CHOICE, "python",
     "arguments and variables with their values: of Python frames, and\n"
     "of Cython and C frames that have debug information; =python\n"
     "leaves those of C out",
     take_locals, COMPLETE_CHOICES, locals_choices},
    {NULL, "value-length", 0, OPTION_REQUIRED, "N",
     "with --locals: characters of a text that are shown (400; C's 200),", take_value_length,
     COMPLETE_NOTHING, NULL},
    {NULL, "value-items", 0, OPTION_REQUIRED, "N", "items of a container (32),", take_value_items,
     COMPLETE_NOTHING, NULL},
    {NULL, "value-depth", 0, OPTION_REQUIRED, "N", "containers in containers (5; C's 4)",
     take_value_depth, COMPLETE_NOTHING, NULL},
    {NULL, "eval", 0, OPTION_REQUIRED, "VALUE",
     "in place of the report one value: THREAD/FRAME: NAME, where THREAD\n"
     "is an id, crashed or main, FRAME the number in the report, and NAME\n"
     "may go on (self.rows[-1]['name']); may be repeated",
     take_eval, COMPLETE_NOTHING, NULL},
    {NULL, "tasks", 0, OPTION_FLAG, NULL,
     "also tasks that are not done: asyncio's as a tree of who waits for\n"
     "whom, those of trio and curio; and greenlets that are suspended",
     take_tasks, COMPLETE_NOTHING, NULL},
    {NULL, "summary", 0, OPTION_FLAG, NULL,
     "in place of the threads all their stacks as one tree with counts,\n"
     "the odd ones first: a screen for a thousand of them",
     take_summary, COMPLETE_NOTHING, NULL},
    {NULL, "running", 0, OPTION_FLAG, NULL,
     "also uptime, working directory, memory by kind and the variables\n"
     "of the environment that matter (a list of names, no secrets)",
     take_running, COMPLETE_NOTHING, NULL},
    {NULL, "no-group", 0, OPTION_FLAG, NULL, "do not put threads with equal stacks together",
     take_no_group, COMPLETE_NOTHING, NULL},
    {NULL, "no-source", 0, OPTION_FLAG, NULL, "no lines of source", take_no_source,
     COMPLETE_NOTHING, NULL},
    {NULL, "redact", 0, OPTION_FLAG, NULL,
     "mask home directories, user names, and passwords, tokens and keys\n"
     "in arguments, URLs, values and text; for what is shared",
     take_redact, COMPLETE_NOTHING, NULL},
    {NULL, "explain", 0, OPTION_FLAG, NULL, "how each thing was found", take_explain,
     COMPLETE_NOTHING, NULL},

    {NULL, "explain-signature", 0, OPTION_FLAG, NULL,
     "in place of the report its signature, which deaths of one cause\n"
     "have in common, and what each frame is to it",
     take_explain_signature, COMPLETE_NOTHING, NULL},
    {NULL, "rules", 0, OPTION_REQUIRED, "FILE", "more rules of what frames are to signatures",
     take_rules, COMPLETE_FILES, NULL},

    {"Living processes:", "pid", 0, OPTION_REQUIRED, "PID",
     "instead of CORE; without the right to trace it only the names and\n"
     "states of its threads can be shown; several with commas, or again",
     take_pid, COMPLETE_PROCESSES, NULL},
    {NULL, "match", 0, OPTION_REQUIRED, "REGEX",
     "processes whose command line (arguments joined by blanks) has a\n"
     "match of the extended regular expression, never this program's",
     take_match, COMPLETE_NOTHING, NULL},
    {NULL, "children", 0, OPTION_FLAG, NULL,
     "also its descendants; threads with equal stacks stand together,\n"
     "as PID/TID; JSON is one object a line",
     take_children, COMPLETE_NOTHING, NULL},
    {NULL, "depth", 0, OPTION_REQUIRED, "N", "of the descendants N levels", take_depth,
     COMPLETE_NOTHING, NULL},
    {NULL, "no-pause", 0, OPTION_FLAG, NULL,
     "do not stop it: only Python frames, and what changes while it is\n"
     "read may be shown wrongly (the report says whether it did)",
     take_no_pause, COMPLETE_NOTHING, NULL},
    {NULL, "watch", 0, OPTION_REQUIRED, "SECONDS",
     "again and again, until it has ended; JSON is one object a line", take_watch, COMPLETE_NOTHING,
     NULL},
    {NULL, "save-core", 0, OPTION_OPTIONAL, "FILE",
     "also write what was looked at as a core file (core.PID): registers,\n"
     "stacks and all memory that the report needed; of several\n"
     "processes FILE.PID each",
     take_save_core, COMPLETE_CHOICES, save_core_choices},
    {NULL, "save-core=full", 0, OPTION_OPTIONAL, "FILE",
     "with all memory, as the kernel would dump it (core(5)); the\n"
     "process is stopped until that is copied: about a second a GB",
     NULL, COMPLETE_NOTHING, NULL},

    {"Where the files of the dead machine are now:", "sysroot", 0, OPTION_REQUIRED, "DIR",
     "look up its absolute paths below DIR first, or in an archive that\n"
     "--bundle wrote (any tar of a file system)",
     take_sysroot, COMPLETE_FILES, NULL},
    {NULL, "lib-dir", 0, OPTION_REQUIRED, "DIR",
     "search DIR and all below it for its files; may be repeated", take_library_directory,
     COMPLETE_DIRECTORIES, NULL},
    {NULL, "debug-dir", 0, OPTION_REQUIRED, "DIR", "separate debug files (default /usr/lib/debug)",
     take_debug_directory, COMPLETE_DIRECTORIES, NULL},
    {NULL, "source-map", 0, OPTION_REQUIRED, "FROM=TO",
     "source paths that begin with FROM are at TO; may be repeated", take_source_map,
     COMPLETE_DIRECTORIES, NULL},
    {NULL, "source-dir", 0, OPTION_REQUIRED, "DIR",
     "sources and generated C of Cython modules are somewhere below\n"
     "DIR; may be repeated",
     take_source_directory, COMPLETE_DIRECTORIES, NULL},

    {NULL, "debuginfod", 0, OPTION_OPTIONAL, "URL",
     "fetch programs, libraries, debug files and sources that are not\n"
     "here by their build-ids, with debuginfod-find, which keeps them;\n"
     "of the server URL, else of those in DEBUGINFOD_URLS; also by\n"
     "PYSTACK_CORE_DEBUGINFOD=1",
     take_debuginfod, COMPLETE_NOTHING, NULL},
    {NULL, "debuginfod-limit", 0, OPTION_REQUIRED, "SECONDS",
     "for all files of a report together (120)", take_debuginfod_limit, COMPLETE_NOTHING, NULL},

    {NULL, "list-files", 0, OPTION_FLAG, NULL,
     "in place of the report all files that it needs, build-ids, and\n"
     "whether they are here",
     take_list_files, COMPLETE_NOTHING, NULL},
    {NULL, "bundle", 0, OPTION_REQUIRED, "FILE",
     "also write those that are here into one archive (.tar, .tar.gz,\n"
     ".tar.zst), for --sysroot on another machine",
     take_bundle, COMPLETE_FILES, NULL},

    {"", NULL, 'c', OPTION_REQUIRED, "CORE",
     "the core, as gdb has it: EXECUTABLE -c CORE, also for coredumpctl\n"
     "debug --debugger=pystack-core",
     take_core, COMPLETE_FILES, NULL},
    {NULL, "unwinder", 0, OPTION_REQUIRED, "NAME", "libunwind (default) or libdw", take_unwinder,
     COMPLETE_CHOICES, unwinder_choices},
    {NULL, "no-sandbox", 0, OPTION_FLAG, NULL,
     "parse with all rights of this program, in one process: for its own\n"
     "debugging",
     take_no_sandbox, COMPLETE_NOTHING, NULL},
    OPTION_HELP,
    {NULL, "version", 0, OPTION_FLAG, NULL, "the version", take_version, COMPLETE_NOTHING, NULL},
    {NULL, "completion", 0, OPTION_REQUIRED, "SHELL",
     "what makes a shell complete this: bash, zsh or fish", take_completion, COMPLETE_CHOICES,
     shell_choices},
    {NULL, "manual", 0, OPTION_FLAG, NULL, "this and the help of all commands, as a page for man",
     take_manual, COMPLETE_NOTHING, NULL},
    {NULL, "gdb-script", 0, OPTION_FLAG, NULL, "the path of the commands for gdb, for its source",
     take_gdb_script, COMPLETE_NOTHING, NULL},
    {NULL, "lldb-script", 0, OPTION_FLAG, NULL, "the same for lldb's command script import",
     take_lldb_script, COMPLETE_NOTHING, NULL},
};

const struct command_spec report_command = {
    .usage = "[OPTIONS] CORE [EXECUTABLE]\n"
             "[OPTIONS] --pid PID [--save-core[=full] [FILE]]\n"
             "[OPTIONS] --match REGEX\n"
             "COMMAND ...",
    .about =
        "Prints the merged native, Cython and Python stack of every thread of a core file, or of\n"
        "a living process, which is stopped for some milliseconds.\n"
        "EXECUTABLE is needed only when the program is not where the core says it was.\n"
        "CORE may be compressed (.gz, .xz, .zst, .lz4, .bz2); - is standard input.",
    .options = option_list,
    .option_count = sizeof(option_list) / sizeof(option_list[0]),
    .examples = "pystack-core core.4711                   how it died, and all stacks\n"
                "coredumpctl dump 4711 | pystack-core -\n"
                "pystack-core --pid 4711                  what it does now\n"
                "pystack-core --thread crashed --locals core.4711\n"
                "pystack-core --output json=report.json core.4711\n"
                "pystack-core --debuginfod=https://debuginfod.debian.net core.4711",
    .exit_status =
        "Exit status: 0 everything shown, 1 shown with parts missing (each is named),\n"
        "2 nothing could be shown or a file that was asked for not be written, 64 wrong usage.",
};

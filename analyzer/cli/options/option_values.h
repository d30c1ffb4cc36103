/** What the options of option_list.c do with their values. */
#ifndef PSC_OPTION_VALUES_H
#define PSC_OPTION_VALUES_H

#include "options.h"

extern const struct option_choice format_choices[];
extern const struct option_choice mode_choices[];
extern const struct option_choice unwinder_choices[];
extern const struct option_choice order_choices[];
extern const struct option_choice color_choices[];
extern const struct option_choice thread_choices[]; /**< Beside thread ids. */
extern const struct option_choice locals_choices[];
extern const struct option_choice save_core_choices[]; /**< Beside files. */
extern const struct option_choice shell_choices[];

option_fn take_format, take_output_file, take_output, take_color;
option_fn take_mode, take_thread, take_order, take_all, take_all_inlined, take_locals, take_tasks;
option_fn take_max_frames, take_running, take_summary, take_no_fold, take_no_group, take_no_source,
    take_explain;
option_fn take_no_sandbox;
option_fn take_value_length, take_value_items, take_value_depth;
option_fn take_list_files, take_bundle, take_eval, take_explain_signature, take_rules, take_redact;
option_fn take_core, take_pid, take_match, take_depth, take_children, take_no_pause, take_watch,
    take_save_core;
option_fn take_sysroot, take_library_directory, take_debug_directory, take_source_map;
option_fn take_source_directory, take_unwinder, take_version;
option_fn take_completion, take_manual, take_gdb_script, take_lldb_script;
option_fn take_debuginfod, take_debuginfod_limit;

#endif

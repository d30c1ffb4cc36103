/**
 * @file
 * Room `profile`: where the time of a program went, as plain data. Who samples adds to it, the
 * formats read it. Nothing of it needs the program that was looked at.
 *
 * Everything is a number into a table. Number 0 of each table is "none": the empty string, no
 * library, no function, no frame, the empty stack, no process, no thread; the items begin at 1.
 * A table item keeps its number, and equal strings, functions, frames and stacks have one number,
 * so that memory grows with what is distinct alone; the samples go to a file without a name.
 *
 * Functions that add return 0 when memory runs out, and profile_is_exhausted() is true from then
 * on.
 */
#ifndef PSC_PROFILE_H
#define PSC_PROFILE_H

#include "base.h"

/** What a function is written in; or what else stands in a stack. */
enum profile_kind {
    PROFILE_PYTHON,
    PROFILE_CYTHON,
    PROFILE_NATIVE, /**< C, C++, Rust, ... */
    PROFILE_GAP,    /**< Frames that could not be read; the name says why. */
    PROFILE_TASK    /**< A task: what is inside of it are its frames. The name is the task's. */
};
#define PROFILE_KINDS 5

/** An ELF file of a process. */
struct profile_library {
    uint32_t path;     /**< String, as the process names it. */
    uint32_t build_id; /**< String, hexadecimal digits; 0: it has none. */
    uint32_t process;  /**< Number of the first process that has it. */
    psc_addr base;     /**< In that process: address minus base is the address in the file. */
    uint64_t size;     /**< From its first mapped byte to its last. */
};

struct profile_function {
    uint8_t kind;     /**< enum profile_kind */
    uint32_t name;    /**< String: what a person reads, demangled, qualified. Never 0. */
    uint32_t file;    /**< String: the source file as the program names it; 0: not known. */
    uint32_t symbol;  /**< String: the linker's name; 0: none. */
    uint32_t library; /**< Of native and Cython functions; 0: none. */
    uint32_t line;    /**< The first line of a Python function; 0: not known. */
    psc_addr offset;  /**< Of its symbol from the library's base; 0: not known. */
};

/** A function at a line (and an address). */
struct profile_frame {
    uint32_t function;
    uint32_t line; /**< 0: not known, or folded by the user's wish (profile->folds_lines). */
    /** Of the code from the library's base, within the instruction (one byte back of callers);
     * 0: not known, or Python. Folded lines have none. */
    psc_addr offset;
    bool inlined; /**< Into the frame that is outside of it. */
};

/** The stack `parent` with one more frame, called by its innermost one. Parent's number is lower.
 */
struct profile_stack {
    uint32_t parent; /**< 0: the frame is the outermost one. */
    uint32_t frame;
};

struct profile_process {
    int32_t pid;
    uint32_t parent;     /**< Process number; 0: not in the profile. */
    uint32_t name;       /**< String: the name of the executable. */
    uint32_t arguments;  /**< String: the command line, joined with spaces. */
    uint32_t executable; /**< String: its path. */
    uint32_t python;     /**< String: "CPython 3.11.2"; 0: none. */
    uint64_t start;      /**< When it was first seen, in ns from profile->start. */
    uint64_t end;        /**< When it was last seen; it is over where `ended`. */
    bool ended;          /**< It exited, or executed another program (which is another item). */
};

struct profile_thread {
    uint32_t process;
    int32_t tid;
    uint32_t name;  /**< String: Python's name for it, or the system's; 0: none. */
    uint64_t start; /**< In ns from profile->start. */
    uint64_t end;
    bool main; /**< The first thread of its process. */
    bool ended;
};

enum profile_sample_flag {
    PROFILE_RUNNING = 1,   /**< It was on a processor, or wanted one. */
    PROFILE_IDLE = 2,      /**< It waited in the kernel. */
    PROFILE_HOLDS_GIL = 4, /**< Or, without a GIL, was attached to the interpreter. */
    PROFILE_WAITS_GIL = 8,
    PROFILE_COLLECTS = 16, /**< In the garbage collector, for this thread's account. */
    PROFILE_STOPPED = 32,  /**< By a signal or a debugger: it could not run. */
    PROFILE_REPEATED = 64, /**< It has not run since its last sample: the stack is that one. */
    PROFILE_FAILED = 128   /**< Its stack could not be taken: the stack is 0. */
};

/** A thread at one moment. The samples stand in the order of their times. */
struct profile_sample {
    uint64_t time; /**< In ns from profile->start. */
    uint32_t thread;
    uint32_t stack;
    uint32_t
        cpu; /**< ns of processor time that it has had since its sample before; the kernel's. */
    uint32_t flags; /**< enum profile_sample_flag bits. */
    /** How many intervals it stands for: 1, but more when later slots were lost by lateness and are
     * accounted to it. */
    uint32_t weight;
};

/** Lengths of stops that are counted apart: each is at most a 32nd more than the one before. */
#define PROFILE_STOPS 832

/** How well it went. */
struct profile_counts {
    uint64_t wanted;   /**< Moments at which samples were to be taken. */
    uint64_t taken;    /**< Moments at which they were. */
    uint64_t late;     /**< Of those, more than half an interval after their time. */
    uint64_t lost;     /**< Moments that had passed before their turn came. */
    uint64_t left_out; /**< Moments without a look, for these cost too much. Not wanted ones. */
    uint64_t weighed;  /**< Moments that samples stand for so far: also lost ones, and left out. */
    uint64_t samples;  /**< Of threads. */
    uint64_t failed;   /**< Of those, without a stack. */
    uint64_t partial;  /**< Of those, with a gap in their stack. */
    uint64_t repeated; /**< Of those, of threads that had not run and were left alone. */
    uint64_t stops;    /**< How often a thread was stopped. */
    uint64_t stood[PROFILE_STOPS]; /**< How long, see profile_count_stop(). */
    uint64_t stood_ns;             /**< In all. */
    uint64_t start_ns;             /**< Processor time of the sampler before the first moment. */
    uint64_t sampler_ns;           /**< And from then on. */
};

struct profile_table; /* The lookup of equal items; private. */
struct profile_spill; /* Samples in memory and in the file; private. */

struct profile {
    /* What was asked for. */
    uint64_t interval;      /**< ns between two moments. */
    bool merged;            /**< Native frames are in the stacks. */
    bool with_idle;         /**< Idle threads have samples, too. */
    bool only_gil;          /**< Only who holds the GIL has. */
    bool by_cpu;            /**< A sample's weight is its processor time: `cpu`, not `weight`. */
    bool splits_threads;    /**< The thread is to be shown as the outermost frame. */
    bool several_processes; /**< Descendants were followed: the process likewise. */
    bool folds_lines;
    const char *target; /**< One line: what was recorded ("pid 12: python app.py"); owned. */
    /* When. */
    uint64_t start_epoch; /**< CLOCK_REALTIME, ns. */
    uint64_t start;       /**< CLOCK_MONOTONIC, ns. */
    uint64_t duration;    /**< ns; known when it has ended. */
    struct profile_counts counts;
    /* Tables; [0] is "none". */
    const char **strings; /**< UTF-8, NUL-terminated; [0] is "". Not escaped: names are foreign. */
    uint32_t string_count;
    struct profile_library *libraries;
    uint32_t library_count;
    struct profile_function *functions;
    uint32_t function_count;
    struct profile_frame *frames;
    uint32_t frame_count;
    struct profile_stack *stacks;
    uint32_t stack_count;
    struct profile_process *processes;
    uint32_t process_count;
    struct profile_thread *threads;
    uint32_t thread_count;
    /* Private. */
    struct arena *arena;
    struct profile_table *table;
    struct profile_spill *spill;
};

/** Files without names for what memory should not hold; -1: there is none. */
struct profile_files {
    int samples; /**< As they come. */
    int sorted;  /**< Once more, while a format has them in another order. */
};

/** Below $TMPDIR, /tmp or /var/tmp; where none of them has such files (open(2), O_TMPFILE), in
 * memory. */
struct profile_files profile_open_files(void);
void profile_close_files(struct profile_files *files);

/**
 * The clock starts.
 * @param files  the caller's, for one profile, until that is destroyed: for who may open none any
 *               more when there are many samples. NULL: they are opened when they are wanted.
 * @return NULL: out of memory.
 */
struct profile *profile_create(const struct profile_files *files);
void profile_destroy(struct profile *profile);
bool profile_is_exhausted(const struct profile *profile);
/** For PSC_CLEANUP. */
void cleanup_profile(struct profile **profile);

/* ---- adding; each returns the item's number ---- */

/** Bytes that are not UTF-8 become U+FFFD. NULL and "" are 0. */
uint32_t profile_add_string(struct profile *profile, const char *text);
uint32_t profile_add_library(struct profile *profile, const struct profile_library *library);
uint32_t profile_add_function(struct profile *profile, const struct profile_function *function);
uint32_t profile_add_frame(struct profile *profile, const struct profile_frame *frame);
uint32_t profile_add_stack(struct profile *profile, uint32_t parent, uint32_t frame);
/** Processes and threads are always new ones: ids are used again. */
uint32_t profile_add_process(struct profile *profile, const struct profile_process *process);
uint32_t profile_add_thread(struct profile *profile, const struct profile_thread *thread);
/** PSC_ERR_MEMORY; PSC_ERR_IO when the file cannot be written. */
PSC_MUST_CHECK enum psc_status profile_add_sample(struct profile *profile,
                                                  const struct profile_sample *sample);

/* ---- reading the samples, as often as wanted ---- */

/** Samples so far. */
uint64_t profile_sample_count(const struct profile *profile);
/**
 * Room in a file that is read and written as memory, until munmap(2): one at a time of a profile
 * that was given its files. A file's blocks are taken at once: a page that the disk has no room for
 * would kill (SIGBUS).
 * @return NULL and errno.
 */
void *profile_map_room(const struct profile *profile, size_t size);
/**
 * The samples from number `first` on (counted from 0), at most `count`.
 * @return how many there were; fewer at the end, and when the file cannot be read.
 */
size_t profile_read_samples(const struct profile *profile, uint64_t first,
                            struct profile_sample *ret, size_t count);

/** Goes through all samples: `while (profile_next_sample(&reader, &sample))`. */
struct profile_reader {
    const struct profile *profile;
    uint64_t next; /**< Number of the first sample that was not yet copied to `held`. */
    size_t at, count;
    struct profile_sample held[256];
};
void profile_start_reading(struct profile_reader *reader, const struct profile *profile);
bool profile_next_sample(struct profile_reader *reader, struct profile_sample *ret);

/** Forgets the samples, keeps the tables: for who shows the last seconds alone. */
void profile_drop_samples(struct profile *profile);

/* ---- looking at it ---- */

static inline const char *profile_string(const struct profile *profile, uint32_t string)
{
    return profile->strings[string];
}
static inline const struct profile_function *profile_function_of(const struct profile *profile,
                                                                 uint32_t frame)
{
    return &profile->functions[profile->frames[frame].function];
}
/** "python", "cython", "native", "gap", "task". Static. */
const char *profile_kind_name(enum profile_kind kind);
/** What a sample counts: intervals, or with profile->by_cpu nanoseconds. */
static inline uint64_t profile_weight(const struct profile *profile,
                                      const struct profile_sample *sample)
{
    return profile->by_cpu ? sample->cpu : sample->weight;
}
/** The frames of a stack, outermost first; false: out of memory. For array_reserve(). */
PSC_MUST_CHECK bool profile_unfold(const struct profile *profile, uint32_t stack, uint32_t **frames,
                                   size_t *capacity, size_t *ret_count);
/**
 * Appends a frame as every text format shows it: "function (file:line)", "function (library)",
 * "name" of a task; control characters escaped. @param lines  false: without the line.
 */
void profile_frame_text(const struct profile *profile, uint32_t frame, bool lines,
                        struct text *ret);

/** Counts a stop of a thread. */
void profile_count_stop(struct profile_counts *counts, uint64_t nanoseconds);
/** Nanoseconds that half of all stops did not exceed, at most a 32nd too much; 0: none. */
uint64_t profile_median_stop(const struct profile_counts *counts);

#endif

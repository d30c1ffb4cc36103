/**
 * @file
 * Room `print/stack_tree`: all stacks of many threads as one tree, outermost frame first.
 */
#ifndef PSC_STACK_TREE_H
#define PSC_STACK_TREE_H

#include "trace.h"

#define STACK_TREE_NONE SIZE_MAX

/** A frame that some stacks have in common, with all that lies further out. */
struct stack_node {
    const struct trace_location *location; /**< NULL for the root, which is no frame. */
    size_t parent;
    size_t first_child; /**< The oddest one: of the thread that crashed, then of fewest threads. */
    size_t next;        /**< The parent's next child. */
    size_t threads;     /**< Whose stacks go through here. */
    size_t ends;        /**< Of those, whose innermost frame this is. */
    size_t first_end;   /**< The first of them. */
    bool crashed;       /**< A thread that crashed is among them. */
    /**
     * This and the frames further out are a cycle of so many frames, which comes up to `times`
     * times; 0: they are none.
     */
    size_t cycle_frames;
    size_t cycle_times;
};

/** A thread of one of the processes. */
struct stack_end {
    size_t process; /**< Index of its trace. */
    const struct trace_thread *thread;
    size_t next; /**< The next one with the same stack. */
};

/** Nodes refer to each other by their index. */
struct stack_tree {
    struct stack_node *nodes; /**< The root is the first; a parent stands before its children. */
    size_t count;
    struct stack_end *ends; /**< All threads. */
    size_t end_count;
    size_t stacks; /**< How many are different. */
};

/**
 * Makes the tree of the frames that are shown. Frames are the same when function, file and line
 * are; native ones without a line when function (or address) and module are. Of a recursion one
 * cycle is taken. @return NULL when out of memory.
 */
struct stack_tree *stack_tree_create(const struct psc_trace *const *traces, size_t count,
                                     const struct psc_print_options *options);
void stack_tree_destroy(struct stack_tree *tree);
/** The node after this one, children before siblings; STACK_TREE_NONE behind the last. */
size_t stack_tree_next(const struct stack_tree *tree, size_t node);
/** The same, but for what is below this one. */
size_t stack_tree_skip(const struct stack_tree *tree, size_t node);

/** A rank that this process alone has; false: it has none, or shares it. */
bool stack_tree_has_rank(const struct psc_trace *const *traces, size_t count, size_t process);

#endif

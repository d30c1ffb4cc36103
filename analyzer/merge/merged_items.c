/* From segments to the items of a merged stack: frames of both kinds, and gaps with their reason.
 */
#include "segments.h"

#include <stdlib.h>

static void interpreter_stack_deinit(struct interpreter_stack *interpreter)
{
    python_stack_deinit(&interpreter->stack);
    python_stack_deinit(&interpreter->further);
}

void merged_stack_deinit(struct merged_stack *merged)
{
    native_stack_deinit(&merged->native);
    free(merged->native_info);
    free(merged->awaiting);
    for (size_t i = 0; i < merged->interpreter_count; i++)
        interpreter_stack_deinit(&merged->interpreters[i]);
    free(merged->interpreters);
    free(merged->items);
    *merged = (struct merged_stack){0};
}

enum psc_status merged_stack_add(struct merged_stack *merged,
                                 const struct interpreter_stack *interpreter)
{
    // Mostly there is one, of each of very many threads: no room is kept for more.
    struct interpreter_stack *grown =
        realloc(merged->interpreters, (merged->interpreter_count + 1) * sizeof(*grown));
    if (!grown)
        return PSC_ERR_MEMORY;
    merged->interpreters = grown;
    merged->interpreters[merged->interpreter_count++] = *interpreter;
    return PSC_OK;
}

static struct merged_item *add_item(struct merged_stack *merged, enum merged_kind kind)
{
    if (!array_reserve(&merged->items, &merged->capacity, merged->count + 1,
                       sizeof(*merged->items)))
        return NULL;
    struct merged_item *item = &merged->items[merged->count++];
    *item = (struct merged_item){.kind = kind};
    return item;
}

bool merged_add_gap(struct merged_stack *merged, const struct trace_location *gap)
{
    struct merged_item *item = gap ? add_item(merged, MERGED_GAP) : NULL;
    if (item)
        item->is.gap = gap;
    return item != NULL;
}

static bool add_segment(struct merged_stack *merged, const struct segment *segment)
{
    const struct python_stack *stack = &merged->interpreters[segment->interpreter].stack;
    for (size_t i = 0; i < segment->count; i++) {
        const struct python_frame *frame = &stack->frames[segment->first + i];
        if (frame->kind == PYTHON_FRAME_SHIM)
            continue;
        struct merged_item *item = add_item(merged, MERGED_PYTHON);
        if (!item)
            return false;
        item->is.python = *frame;
    }
    return true;
}

static bool has_frames(const struct merged_stack *merged, const struct segment *segment)
{
    const struct python_stack *stack = &merged->interpreters[segment->interpreter].stack;
    for (size_t i = 0; i < segment->count; i++)
        if (stack->frames[segment->first + i].kind != PYTHON_FRAME_SHIM)
            return true;
    return false;
}

/* ---- why a stack ends ---- */

/* Whether the file of a module is not at hand, and memory has no unwind tables of it either. */
static bool is_without_rules(const struct module *module)
{
    return module && module->file && !module->eh_frame_hdr &&
           (module->file->state == TARGET_FILE_MISSING ||
            module->file->state == TARGET_FILE_MISMATCH);
}

static const char *absence_of(const struct module *module)
{
    return module->file->state == TARGET_FILE_MISMATCH ? "another build" : "not here";
}

/* `python`: what stands between the Python frames that follow is missing, too; else "". */
static const struct trace_location *
native_end_gap(const struct merged_stack *merged, struct symbolizer *symbolizer, const char *python)
{
    const struct native_stack *stack = &merged->native;
    const struct module *module = merged->native_info[stack->count - 1]->module;
    unsigned long long address = stack->end_address;
    if (stack->end == NATIVE_END_NO_RULE && is_without_rules(module))
        return symbolizer_gap(symbolizer, "the file of %s is %s: the callers are not known%s",
                              module->name, absence_of(module), python);
    switch (stack->end) {
    case NATIVE_END_COMPLETE:
        return NULL;
    case NATIVE_END_NO_RULE:
        return symbolizer_gap(symbolizer, "no unwind rule at 0x%llx: the callers are not known%s",
                              address, python);
    case NATIVE_END_UNREADABLE:
        return symbolizer_gap(symbolizer,
                              "the stack at 0x%llx cannot be read: the callers are not "
                              "known%s",
                              address, python);
    case NATIVE_END_CYCLE:
        return symbolizer_gap(symbolizer,
                              "the native stack turns back at 0x%llx: damaged, or not a stack%s",
                              address, python);
    case NATIVE_END_BLANK:
        return symbolizer_gap(symbolizer,
                              "the stack at 0x%llx is all zeros, for it was left out of the core: "
                              "the callers are not known%s",
                              address, python);
    case NATIVE_END_LIMIT:
        return symbolizer_gap(symbolizer,
                              "more than %u native frames in all stacks: the rest is not shown%s",
                              PSC_NATIVE_FRAME_TOTAL, python);
    }
    return NULL;
}

static const struct trace_location *python_end_gap(const struct python_stack *stack,
                                                   struct symbolizer *symbolizer)
{
    unsigned long long address = stack->end_address;
    switch (stack->end) {
    case PYTHON_END_COMPLETE:
        return NULL;
    case PYTHON_END_UNREADABLE:
        return symbolizer_gap(symbolizer,
                              "the Python frame at 0x%llx cannot be read: its callers are not "
                              "known",
                              address);
    case PYTHON_END_CYCLE:
        return symbolizer_gap(symbolizer,
                              "the Python frames run in a circle through 0x%llx: damaged", address);
    case PYTHON_END_LIMIT:
        return symbolizer_gap(symbolizer,
                              "more than %u Python frames in all stacks: the rest is not shown",
                              PSC_PYTHON_FRAME_TOTAL);
    }
    return NULL;
}

/* ---- where the C stack of one greenlet begins on that of another ---- */

/* Less apart are two return addresses of one function of the module greenlet, */
#define SWITCH_SIZE UINT64_C(4096)
/* and no deeper is its stack from where it starts another one to where it leaves. */
#define SWITCH_DEPTH 640u

static bool is_guess(const struct merged_stack *merged, size_t native)
{
    return native < merged->native.count && merged->native.frames[native].trust > NATIVE_TRUST_CFI;
}

/*
 * The seam that lies within a native frame; NULL: none. What follows one may be a guess that took
 * a word of the same frame for a return address.
 */
static const struct python_seam *find_seam(const struct merged_stack *merged, size_t native)
{
    const struct native_frame *frame = &merged->native.frames[native];
    psc_addr end = is_guess(merged, native + 1) ? frame->sp + SWITCH_DEPTH : frame->cfa;
    for (size_t i = 0; i < merged->interpreter_count; i++) {
        const struct python_stack *stack = &merged->interpreters[i].stack;
        size_t at = SORTED_BELOW(stack->seams, address, stack->seam_count, frame->sp);
        if (at < stack->seam_count && stack->seams[at].address < end)
            return &stack->seams[at];
    }
    return NULL;
}

/*
 * The outer greenlet is still in the call that started the inner one when it went down from there
 * by no more than the module's own functions (200 to 560 bytes in greenlet 0.4 to 3.5), and what
 * was moved away has, below the frame, a return address into the same function. Else it has gone on
 * since, and the inner one's caller is not on the stack any more.
 */
static bool seam_is_a_call(const struct merged_stack *merged, const struct python_seam *seam,
                           size_t native)
{
    const struct native_frame *frame = &merged->native.frames[native];
    psc_addr slot = frame->sp - 8;
    uint64_t back = ((seam->address & ~(psc_addr)7) - slot) / 8;
    if (is_guess(merged, native + 1) || !back || back > seam->word_count ||
        slot - seam->below > SWITCH_DEPTH)
        return false;
    return seam->words[seam->word_count - back] - frame->pc + SWITCH_SIZE < 2 * SWITCH_SIZE;
}

/* ---- all frames ---- */

struct item_writer {
    struct merged_stack *merged;
    const struct segments *segments;
    struct symbolizer *symbolizer;
    size_t next;     /* Segment to be added. */
    size_t doubtful; /* Native frames before this one are left out, after a seam. */
    bool seam_told;  /* No native frame was added since the gap of a seam. */
    bool gap_told;   /* Between the last native frame and the one at hand. */
    bool gap_last;   /* It was what was added last. */
};

static bool has_evaluators_between(const struct segment *segment)
{
    return segment->apart && segment->count > 1;
}

/*
 * Why frames are missing before native frame `i`.
 * @param segment  the Python frames that follow; NULL: none do.
 */
static const struct trace_location *missing_gap(const struct item_writer *writer, size_t i,
                                                const struct segment *segment)
{
    const struct merged_stack *merged = writer->merged;
    // Behind the first of several it is not known what stood there.
    const struct module *module =
        i && !writer->gap_told ? merged->native_info[i - 1]->module : NULL;
    const char *python = "";
    if (segment)
        python = has_evaluators_between(segment)
                     ? ", here and between the Python frames that follow"
                     : "; their Python frames follow";
    if (module && is_without_rules(module))
        return symbolizer_gap(writer->symbolizer,
                              "native frames that could not be unwound: the file of %s is %s%s",
                              module->name, absence_of(module), python);
    if (i && !segment && !writer->gap_told && merged->native.frames[i].skipped)
        return symbolizer_gap(writer->symbolizer,
                              "native frames may be missing: no unwind rule leads on from 0x%llx, "
                              "and what follows was found by searching the stack",
                              (unsigned long long)merged->native.frames[i - 1].pc);
    return symbolizer_gap(writer->symbolizer, "native frames that could not be unwound%s", python);
}

/*
 * Segments without an evaluator that stand before native frame `i`, or after the last one: each of
 * them was run by one that could not be unwound.
 */
static bool add_segments_before(struct item_writer *writer, size_t i)
{
    struct merged_stack *merged = writer->merged;
    for (; writer->next < writer->segments->count; writer->next++) {
        const struct segment *segment = &writer->segments->items[writer->next];
        if (segment->native != SIZE_MAX || segment->before != i)
            break;
        if (!has_frames(merged, segment))
            continue;
        if (merged->native.count && !writer->gap_last && !segment->compiled &&
            !merged_add_gap(merged, missing_gap(writer, i, segment)))
            return false;
        if (!add_segment(merged, segment))
            return false;
        // A compiled frame has no evaluator that could be missing.
        writer->gap_told = writer->gap_told || !segment->compiled;
        writer->gap_last = false;
    }
    return true;
}

/* A native frame, and the Python frames that it runs. */
static bool add_native(struct item_writer *writer, size_t i)
{
    struct merged_stack *merged = writer->merged;
    const struct native_frame *frame = &merged->native.frames[i];
    // Nothing is missing between an evaluator and what was found by its anchor.
    bool missing = frame->skipped ? !writer->gap_last
                                  : frame->trust == NATIVE_TRUST_ANCHOR && !writer->gap_told;
    if (missing && !merged_add_gap(merged, missing_gap(writer, i, NULL)))
        return false;
    struct merged_item *item = add_item(merged, MERGED_NATIVE);
    if (!item)
        return false;
    item->is.native = i;
    const struct segments *segments = writer->segments;
    writer->seam_told = false;
    item->evaluator = writer->next < segments->count && segments->items[writer->next].native == i;
    for (; writer->next < segments->count && segments->items[writer->next].native == i;
         writer->next++)
        if (!add_segment(merged, &segments->items[writer->next]))
            return false;
    return true;
}

/*
 * What was unwound from a greenlet into another one that has gone on since is not its callers. The
 * next evaluator whose Python frames are known stands where it was.
 */
static bool pass_seam(struct item_writer *writer, size_t i)
{
    struct merged_stack *merged = writer->merged;
    const struct segments *segments = writer->segments;
    const struct python_seam *seam = find_seam(merged, i);
    if (!seam || seam_is_a_call(merged, seam, i))
        return true;
    size_t next = writer->next;
    while (next < segments->count && segments->items[next].native == SIZE_MAX)
        next++;
    writer->seam_told = writer->gap_told = writer->gap_last = true;
    writer->doubtful = next < segments->count ? segments->items[next].native : merged->native.count;
    return merged_add_gap(merged, symbolizer_gap(writer->symbolizer,
                                                 "the greenlet it was started from goes on here; "
                                                 "its innermost native frames were moved "
                                                 "elsewhere"));
}

/* Where the native frames end and what follows them; then where the Python frames ended. */
static bool add_end(struct item_writer *writer)
{
    struct merged_stack *merged = writer->merged;
    const struct native_stack *native = &merged->native;
    const struct segments *segments = writer->segments;
    bool between =
        writer->next < segments->count && has_evaluators_between(&segments->items[writer->next]);
    bool broken = native->count && native->end != NATIVE_END_COMPLETE;
    writer->gap_last = writer->seam_told ? writer->gap_last : broken;
    if (broken && !writer->seam_told &&
        !merged_add_gap(merged, native_end_gap(merged, writer->symbolizer,
                                               between ? ", nor the native frames between the "
                                                         "Python frames that follow"
                                                       : "")))
        return false;
    if (!add_segments_before(writer, native->count))
        return false;
    // The interpreter was called by something.
    if ((broken || writer->seam_told) && !writer->gap_last &&
        !merged_add_gap(
            merged, symbolizer_gap(writer->symbolizer, "native frames that could not be unwound")))
        return false;
    for (size_t i = 0; i < merged->interpreter_count; i++) {
        const struct python_stack *stack = &merged->interpreters[i].stack;
        if (stack->end != PYTHON_END_COMPLETE &&
            !merged_add_gap(merged, python_end_gap(stack, writer->symbolizer)))
            return false;
    }
    return true;
}

enum psc_status merged_add_frames(struct merged_stack *merged, const struct segments *segments,
                                  struct symbolizer *symbolizer)
{
    struct item_writer writer = {.merged = merged, .segments = segments, .symbolizer = symbolizer};
    for (size_t i = 0; i < merged->native.count; i++) {
        if (!writer.seam_told)
            writer.gap_told = writer.gap_last = false;
        if (!add_segments_before(&writer, i))
            return PSC_ERR_MEMORY;
        if (i >= writer.doubtful && (!add_native(&writer, i) || !pass_seam(&writer, i)))
            return PSC_ERR_MEMORY;
    }
    return add_end(&writer) ? PSC_OK : PSC_ERR_MEMORY;
}

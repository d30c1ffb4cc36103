#include "layout.h"

#include <string.h>

#define STRUCT_SIZE_LIMIT      (UINT64_C(1) << 20)
#define INTERPRETER_SIZE_LIMIT (UINT64_C(4) << 20)
#define HEAD_WORDS             3u
#define GROUP_LIMIT            24u

/*
 * The groups of words in _Py_DebugOffsets after the first three words, by how many words
 * they have. All that we use begin with the size of the struct that they tell of.
 */
struct description {
    uint8_t major;
    uint8_t minor;
    uint8_t groups[GROUP_LIMIT];
};

static const struct description descriptions[] = {
    /* runtime, interpreter, thread, frame, code, object, type, tuple, list, dict, float, int,
     * bytes, str, gc */
    {3, 13, {3, 13, 9, 6, 10, 2, 4, 3, 3, 3, 2, 3, 3, 4, 2}},
    /* set after list; generator, llist, debugger support at the end */
    {3, 14, {3, 16, 9, 8, 11, 2, 4, 3, 3, 4, 3, 2, 3, 3, 4, 2, 4, 2, 6}},
    /* exception stack item after thread, heap type after type */
    {3, 15, {3, 16, 16, 1, 8, 11, 2, 6, 2, 3, 3, 4, 3, 2, 3, 3, 5, 5, 4, 2, 6}},
};

static const struct description *find_description(uint32_t hex)
{
    for (size_t i = 0; i < PSC_ARRAY_SIZE(descriptions); i++)
        if (descriptions[i].major == hex >> 24 && descriptions[i].minor == (hex >> 16 & 0xff))
            return &descriptions[i];
    return NULL;
}

static size_t word_count(const struct description *description)
{
    size_t words = HEAD_WORDS;
    for (size_t i = 0; i < GROUP_LIMIT; i++)
        words += description->groups[i];
    return words;
}

/* The word with the size of the struct that a word tells of. */
static size_t size_word(const struct description *description, size_t word)
{
    size_t first = HEAD_WORDS;
    for (size_t i = 0; i < GROUP_LIMIT; i++) {
        size_t next = first + description->groups[i];
        if (word < next)
            break;
        first = next;
    }
    return first;
}

enum psc_status parse_debug_offsets_head(const uint8_t *bytes, size_t size,
                                         struct py_debug_offsets *ret)
{
    if (size < PY_DEBUG_OFFSETS_HEAD || memcmp(bytes, PY_DEBUG_COOKIE, 8) != 0)
        return PSC_ERR_FORMAT;
    uint64_t hex = load_u64(bytes + 8);
    uint64_t free_threaded = load_u64(bytes + 16);
    if (hex > UINT32_MAX || hex >> 24 < 3 || hex >> 24 > 4 || free_threaded > 1)
        return PSC_ERR_FORMAT;
    const struct description *description = find_description((uint32_t)hex);
    ret->hex = (uint32_t)hex;
    ret->free_threaded = free_threaded;
    ret->size = description ? 8 * word_count(description) : 0;
    return PSC_OK;
}

static enum psc_status check_word(const struct description *description, const uint8_t *bytes,
                                  enum py_field field, size_t word, struct psc_error *err)
{
    size_t sized_by = size_word(description, word);
    uint64_t size = load_u64(bytes + 8 * sized_by);
    uint64_t offset = load_u64(bytes + 8 * word);
    bool large = field == PY_RUNTIME_SIZE || field == PY_RUNTIME_HEAD ||
                 field == PY_RUNTIME_FINALIZING ||
                 sized_by == size_word(description, HEAD_WORDS + 3);
    uint64_t limit = large ? INTERPRETER_SIZE_LIMIT : STRUCT_SIZE_LIMIT;
    if (size > limit)
        return psc_fail(err, PSC_ERR_FORMAT,
                        "_Py_DebugOffsets is damaged: a struct of %llu bytes (word %zu)",
                        (unsigned long long)size, sized_by);
    if (offset > size || size - offset < layout_field_width(field))
        return psc_fail(err, PSC_ERR_FORMAT,
                        "_Py_DebugOffsets is damaged: %s is at %llu of %llu bytes (word %zu)",
                        layout_field_name(field), (unsigned long long)offset,
                        (unsigned long long)size, word);
    return PSC_OK;
}

enum psc_status parse_debug_offsets(const uint8_t *bytes, size_t size, struct py_layout *ret,
                                    struct psc_error *err)
{
    struct py_debug_offsets head;
    if (parse_debug_offsets_head(bytes, size, &head) != PSC_OK)
        return psc_fail(err, PSC_ERR_FORMAT, "no _Py_DebugOffsets here");
    char version[24];
    layout_format_version(head.hex, version, sizeof(version));
    const struct description *description = find_description(head.hex);
    const struct py_rules *rules = layout_find_rules(head.hex);
    if (!description || !rules)
        return psc_fail(err, PSC_ERR_UNSUPPORTED, "CPython %s: this version is not known", version);
    /* The words were still moved about in alphas and betas. */
    unsigned level = head.hex >> 4 & 0xf;
    if (level == 0xa || level == 0xb)
        return psc_fail(err, PSC_ERR_UNSUPPORTED, "CPython %s: this pre-release is not known",
                        version);
    if (size < head.size)
        return psc_fail(err, PSC_ERR_FORMAT,
                        "_Py_DebugOffsets of CPython %s is cut: %zu of %zu bytes", version, size,
                        head.size);

    uint64_t header = load_u64(bytes + 8 * layout_field_slot(rules, PY_OBJECT_SIZE));
    if (header != PY_HEADER_PLAIN && header != PY_HEADER_TRACED)
        return psc_fail(err, PSC_ERR_FORMAT,
                        "_Py_DebugOffsets is damaged: an object header of %llu bytes",
                        (unsigned long long)header);
    enum psc_status status = layout_from_table(rules, (uint32_t)header, 0, ret);
    if (status != PSC_OK)
        return psc_fail(err, status, "the layout of CPython %s can not be made", version);
    for (size_t i = 0; i < PY_FIELD_COUNT; i++) {
        enum py_field field = (enum py_field)i;
        size_t word = layout_field_slot(rules, field);
        if (!word)
            continue;
        status = check_word(description, bytes, field, word, err);
        if (status != PSC_OK)
            return status;
        ret->offset[field] = (uint32_t)load_u64(bytes + 8 * word);
    }
    if (ret->offset[PY_OBJECT_TYPE] + 8 > header)
        return psc_fail(err, PSC_ERR_FORMAT, "_Py_DebugOffsets is damaged: ob_type is at %u",
                        ret->offset[PY_OBJECT_TYPE]);
    if (ret->offset[PY_INTERP_GIL_HOLDER] < ret->offset[PY_INTERP_GIL] ||
        ret->offset[PY_INTERP_GIL_LOCKED] < ret->offset[PY_INTERP_GIL])
        return psc_fail(err, PSC_ERR_FORMAT,
                        "_Py_DebugOffsets is damaged: the GIL's members are not in it");
    if (head.free_threaded) {
        ret->managed_dict = -8;
        ret->string_kind_shift = rules->free_threaded_kind_shift;
    } else {
        /* With a GIL there is one bytecode for all threads, and 0 in these words. */
        ret->offset[PY_FRAME_COPY] = PY_NO_OFFSET;
        ret->offset[PY_CODE_COPIES] = PY_NO_OFFSET;
    }
    return PSC_OK;
}

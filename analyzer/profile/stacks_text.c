/* Stacks and frames of a profile, as they are shown. */
#include "profile_private.h"

const char *profile_kind_name(enum profile_kind kind)
{
    static const char *const names[PROFILE_KINDS] = {[PROFILE_PYTHON] = "python",
                                                     [PROFILE_CYTHON] = "cython",
                                                     [PROFILE_NATIVE] = "native",
                                                     [PROFILE_GAP] = "gap",
                                                     [PROFILE_TASK] = "task"};
    return names[kind];
}

bool profile_unfold(const struct profile *profile, uint32_t stack, uint32_t **frames,
                    size_t *capacity, size_t *ret_count)
{
    size_t count = 0;
    for (uint32_t at = stack; at; at = profile->stacks[at].parent)
        count++;
    *ret_count = count;
    if (!array_reserve(frames, capacity, count ? count : 1, sizeof(**frames)))
        return false;
    for (uint32_t at = stack; at; at = profile->stacks[at].parent)
        (*frames)[--count] = profile->stacks[at].frame;
    return true;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

void profile_frame_text(const struct profile *profile, uint32_t frame, bool lines, struct text *ret)
{
    const struct profile_frame *one = &profile->frames[frame];
    const struct profile_function *function = &profile->functions[one->function];
    text_add_escaped(ret, profile_string(profile, function->name));
    if (function->file) {
        text_add_string(ret, " (");
        text_add_escaped(ret, profile_string(profile, function->file));
        if (lines && one->line)
            text_printf(ret, ":%u", one->line);
        text_add_char(ret, ')');
    } else if (function->library) {
        const struct profile_library *library = &profile->libraries[function->library];
        text_add_string(ret, " (");
        text_add_escaped(ret, base_name(profile_string(profile, library->path)));
        text_add_char(ret, ')');
    }
}

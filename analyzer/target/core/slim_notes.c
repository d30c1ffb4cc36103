/* What a slim core says of itself, and of the core that it was made of. */
#include "core_private.h"

#include <stdlib.h>

#define SLIM_VERSION  1u
#define PACKAGE_LIMIT 1000u

/* ---- segments and holes ---- */

static enum psc_status take_segments(struct core *core, const struct elf_bytes *note)
{
    struct byte_cursor cursor = cursor_over(note->data, note->size);
    core->declared =
        calloc(note->size / sizeof(struct core_slim_segment) + 1, sizeof(*core->declared));
    if (!core->declared)
        return PSC_ERR_MEMORY;
    while (parse_slim_segment(&cursor, &core->declared[core->declared_count]))
        core->declared_count++;
    core->declared_count =
        target_sort_ranges(core->declared, core->declared_count, sizeof(*core->declared));
    return PSC_OK;
}

static enum psc_status take_holes(struct core *core, const struct elf_bytes *note)
{
    struct byte_cursor cursor = cursor_over(note->data, note->size);
    core->holes = calloc(note->size / sizeof(struct core_hole) + 1, sizeof(*core->holes));
    if (!core->holes)
        return PSC_ERR_MEMORY;
    while (parse_slim_hole(&cursor, &core->holes[core->hole_count]))
        core->hole_count++;
    core->hole_count = target_sort_ranges(core->holes, core->hole_count, sizeof(*core->holes));
    return PSC_OK;
}

bool slim_is_hole(const struct core *core, psc_addr address)
{
    size_t behind = SORTED_UP_TO(core->holes, start, core->hole_count, address);
    return behind && address < core->holes[behind - 1].end;
}

psc_addr slim_find_hole(const struct core *core, psc_addr address, psc_addr end)
{
    if (!core->hole_count)
        return end;
    size_t behind = SORTED_UP_TO(core->holes, start, core->hole_count, address);
    if (behind && address < core->holes[behind - 1].end)
        return address;
    return behind < core->hole_count && core->holes[behind].start < end ? core->holes[behind].start
                                                                        : end;
}

/* ---- all ---- */

enum psc_status slim_take_notes(struct target *target, struct core *core,
                                const struct core_notes *notes)
{
    struct core_slim_head head;
    if (!parse_slim_head(&notes->slim, &head))
        return PSC_OK;
    if (head.version != SLIM_VERSION)
        target_warn(target, "core-slim-version",
                    "the core file was made smaller by a newer version of this program; what it "
                    "says of itself is not understood");
    if (head.version != SLIM_VERSION)
        return PSC_OK;
    core->slim_flags = head.flags;
    target->is_slim = true;
    core->truncated |= (head.flags & CORE_SLIM_TRUNCATED) != 0;
    enum psc_status status = take_segments(core, &notes->slim_segments);
    if (status == PSC_OK)
        status = take_holes(core, &notes->slim_holes);
    if (status == PSC_OK)
        status = packed_files_take(target, core, notes);
    struct byte_cursor packages = cursor_over(notes->slim_packages.data, notes->slim_packages.size);
    struct target_package package;
    for (size_t i = 0; i < PACKAGE_LIMIT && parse_slim_package(&packages, &package); i++)
        target_add_package(target, &package);
    return status;
}

void slim_warn(struct target *target, const struct core *core)
{
    if (core->slim_flags & CORE_SLIM_REDACTED)
        target_warn(target, "core-redacted",
                    "text of values and the environment were left out of the core file when it "
                    "was made");
    if (core->slim_flags & CORE_SLIM_CUT)
        target_warn(target, "core-slim-cut",
                    "the core file was made smaller, and does not hold all that a report reads");
}

void slim_deinit(struct core *core)
{
    packed_files_deinit(core);
    free(core->holes);
    free(core->declared);
}

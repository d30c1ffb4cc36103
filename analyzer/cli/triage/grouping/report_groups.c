/* Reports with one signature. */
#include "base.h"
#include "input.h"
#include "grouping.h"
#include "messages.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define HASH_LENGTH    40u
#define BASELINE_LIMIT ((size_t)64 << 20) /* Bytes. */

/* Reports in the order of their signatures; those without one last, each a group of its own. */
struct sorted_report {
    const char *hash;
    size_t index;
};

static int compare_reports(const void *a, const void *b)
{
    const struct sorted_report *one = a, *other = b;
    if (!one->hash != !other->hash)
        return one->hash ? -1 : 1;
    int order = one->hash ? strcmp(one->hash, other->hash) : 0;
    return order ? order : (one->index > other->index) - (one->index < other->index);
}

static int compare_groups(const void *a, const void *b)
{
    const struct report_group *one = a, *other = b;
    if (one->unread != other->unread)
        return one->unread ? 1 : -1;
    if (one->count != other->count)
        return one->count > other->count ? -1 : 1;
    return (one->first > other->first) - (one->first < other->first);
}

static bool begins_group(const struct sorted_report *sorted, size_t at)
{
    return !at || !sorted[at].hash || !sorted[at - 1].hash ||
           strcmp(sorted[at].hash, sorted[at - 1].hash) != 0;
}

static void fill_groups(const struct core_report *reports, struct report_groups *groups,
                        const struct sorted_report *sorted, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        bool unread = !core_report_tells(&reports[sorted[i].index]);
        if (begins_group(sorted, i))
            groups->items[groups->count++] = (struct report_group){
                .hash = sorted[i].hash, .first = sorted[i].index, .unread = unread};
        groups->items[groups->count - 1].count++;
        groups->unread += unread;
    }
    if (groups->count)
        qsort(groups->items, groups->count, sizeof(*groups->items), compare_groups);
}

/* The reports of each group, by counting. */
static void list_members(const struct core_report *reports, size_t count,
                         struct report_groups *groups)
{
    for (size_t i = 0; i < groups->count; i++)
        groups->member_at[i + 1] = groups->member_at[i] + groups->items[i].count;
    for (size_t i = 0; i < count; i++)
        groups->members[groups->member_at[reports[i].group]++] = i;
    // Each begin has become its end, which is where the next one begins.
    for (size_t i = groups->count; i > 0; i--)
        groups->member_at[i] = groups->member_at[i - 1];
    groups->member_at[0] = 0;
}

bool group_reports(struct core_report *reports, size_t count, struct report_groups *ret)
{
    struct sorted_report *sorted = calloc(count + 1, sizeof(*sorted));
    *ret = (struct report_groups){.items = calloc(count + 1, sizeof(*ret->items)),
                                  .members = calloc(count + 1, sizeof(*ret->members)),
                                  .member_at = calloc(count + 2, sizeof(*ret->member_at))};
    if (!sorted || !ret->items || !ret->members || !ret->member_at) {
        free(sorted);
        return false;
    }
    for (size_t i = 0; i < count; i++)
        sorted[i] = (struct sorted_report){core_report_hash(&reports[i]), i};
    qsort(sorted, count, sizeof(*sorted), compare_reports);
    fill_groups(reports, ret, sorted, count);
    // In the order of the signatures a report's group is found by walking both.
    for (size_t i = 0; i < ret->count; i++)
        reports[ret->items[i].first].group = i;
    for (size_t i = 1; i < count; i++)
        if (!begins_group(sorted, i))
            reports[sorted[i].index].group = reports[sorted[i - 1].index].group;
    list_members(reports, count, ret);
    free(sorted);
    return true;
}

void report_groups_deinit(struct report_groups *groups)
{
    free(groups->items);
    free(groups->members);
    free(groups->member_at);
}

/* A group, found by its hash. */
struct hashed_group {
    const char *hash;
    struct report_group *group;
};

static bool has_hash(const void *item, const void *key)
{
    return !memcmp(((const struct hashed_group *)item)->hash, key, HASH_LENGTH);
}

static bool index_groups(struct report_groups *groups, struct hash_table *ret)
{
    for (size_t i = 0; i < groups->count; i++) {
        struct report_group *group = &groups->items[i];
        // Reports that others have made may have anything as a hash.
        if (!group->hash || strlen(group->hash) != HASH_LENGTH)
            continue;
        struct hashed_group *item = hash_table_add_by(ret, hash_text(group->hash, HASH_LENGTH));
        if (!item)
            return false;
        *item = (struct hashed_group){group->hash, group};
    }
    return true;
}

/* Any text with hashes in it: lines of them, what --output groups wrote, or NDJSON. */
bool mark_known(struct report_groups *groups, const char *path)
{
    struct input text = {0};
    struct hash_table hashes = HASH_TABLE_OF(struct hashed_group);
    bool good = input_read(&text, "--baseline", path, BASELINE_LIMIT);
    if (good && !index_groups(groups, &hashes)) {
        complain("out of memory");
        good = false;
    }
    for (size_t i = 0; good && i < text.size;) {
        size_t length = 0;
        while (isxdigit((unsigned char)text.bytes[i + length]))
            length++;
        struct hashed_group *found = NULL;
        if (length == HASH_LENGTH)
            found = hash_table_find_by(&hashes, hash_text(text.bytes + i, HASH_LENGTH), has_hash,
                                       text.bytes + i);
        if (found)
            found->group->known = true;
        i += length + 1;
    }
    hash_table_deinit(&hashes);
    input_deinit(&text);
    return good;
}

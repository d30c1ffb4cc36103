/* The index of what was unpacked, handed on as a file. */
#include "bundle_private.h"
#include "member_path.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Of a member, before its name and, of a link, what that says: each with a zero. */
struct member_head {
    uint64_t offset;
    uint64_t size;
    uint32_t name_size;
    uint32_t link_size; /* 0: no link. */
    uint32_t from_root;
    uint32_t unused;
};

#define INDEX_LIMIT (NAMES_LIMIT + MEMBER_LIMIT * sizeof(struct member_head))

static int compare_members(const void *a, const void *b)
{
    const struct member *left = a, *right = b;
    int order = strcmp(left->name, right->name);
    return order ? order : left->number < right->number ? -1 : left->number > right->number;
}

static uint32_t size_of(const char *text)
{
    return text ? (uint32_t)strlen(text) + 1 : 0;
}

static bool write_member(const struct member *member, FILE *file)
{
    const struct member_head head = {.offset = member->offset,
                                     .size = member->size,
                                     .name_size = size_of(member->name),
                                     .link_size = size_of(member->link),
                                     .from_root = member->from_root};
    return fwrite(&head, sizeof(head), 1, file) == 1 &&
           fwrite(member->name, head.name_size, 1, file) == 1 &&
           (!member->link || fwrite(member->link, head.link_size, 1, file) == 1);
}

bool members_write(struct member_list *list, int fd)
{
    int copy = dup(fd);
    FILE *file = copy < 0 ? NULL : fdopen(copy, "w");
    bool good = file != NULL;
    if (!file && copy >= 0)
        close(copy);
    if (list->count)
        qsort(list->items, list->count, sizeof(*list->items), compare_members);
    for (size_t i = 0; good && i < list->count; i++)
        good = write_member(&list->items[i], file);
    return file && !fclose(file) && good;
}

/* ---- reading ---- */

/* malloc'd, with all that is in the file. */
static char *read_all(int fd, size_t *ret_size)
{
    struct stat status;
    if (fstat(fd, &status) || status.st_size < 0 || (uint64_t)status.st_size > INDEX_LIMIT)
        return NULL;
    const size_t size = (size_t)status.st_size;
    char *text = malloc(size + 1);
    for (size_t at = 0; text && at < size;) {
        ssize_t got = pread(fd, text + at, size - at, (off_t)at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) {
            free(text);
            return NULL;
        }
        at += (size_t)got;
    }
    *ret_size = size;
    return text;
}

/* The text of so many bytes, the last of which is a zero; false: it is none. */
static bool take_text(char *text, size_t end, size_t size, size_t *at, char **ret)
{
    if (size > end - *at || !size || text[*at + size - 1])
        return false;
    *ret = text + *at;
    *at += size;
    return true;
}

static bool take_member(char *text, size_t end, size_t *at, struct member *ret)
{
    struct member_head head;
    if (end - *at < sizeof(head))
        return false;
    memcpy(&head, text + *at, sizeof(head));
    *at += sizeof(head);
    *ret = (struct member){.from_root = head.from_root, .offset = head.offset, .size = head.size};
    return head.name_size <= MEMBER_PATH_SIZE &&
           take_text(text, end, head.name_size, at, &ret->name) &&
           (!head.link_size || take_text(text, end, head.link_size, at, &ret->link)) &&
           head.offset <= INT64_MAX && head.size <= INT64_MAX - head.offset;
}

bool parse_members(char *text, size_t size, struct member_list *ret)
{
    *ret = (struct member_list){0};
    for (size_t at = 0; at < size; ret->count++) {
        if (ret->count == ret->capacity) {
            const size_t capacity = ret->capacity ? ret->capacity * 2 : 256;
            struct member *grown = reallocarray(ret->items, capacity, sizeof(*grown));
            if (!grown)
                return false;
            ret->items = grown;
            ret->capacity = capacity;
        }
        if (ret->count == MEMBER_LIMIT || !take_member(text, size, &at, &ret->items[ret->count]))
            return false;
    }
    return true;
}

bool members_read(int fd, struct member_list *ret, char **ret_text)
{
    size_t size = 0;
    *ret = (struct member_list){0};
    *ret_text = read_all(fd, &size);
    return *ret_text && parse_members(*ret_text, size, ret);
}

/* The index of an unpacked archive, which a child without rights hands on; and paths of its
 * members. */
#include "bundle_private.h"
#include "member_path.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What was taken from anything is written again, and read back as the same. */
static void check_again(struct member_list *list)
{
    struct member_list again;
    char *text = NULL;
    const int fd = memfd_create("index", MFD_CLOEXEC);
    if (fd < 0 || !members_write(list, fd) || !members_read(fd, &again, &text) ||
        again.count != list->count)
        abort();
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(again.items[i].name, list->items[i].name) != 0 ||
            again.items[i].offset != list->items[i].offset ||
            again.items[i].size != list->items[i].size ||
            !again.items[i].link != !list->items[i].link)
            abort();
    close(fd);
    free(again.items);
    free(text);
}

static void check_path(const char *path)
{
    char made[MEMBER_PATH_SIZE], again[MEMBER_PATH_SIZE];
    if (!member_path(path, made))
        return;
    if (!*made || *made == '/' || !strcmp(made, "..") || !strncmp(made, "../", 3) ||
        strstr(made, "/../") || !member_path(made, again) || strcmp(made, again) != 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct member_list list;
    char *copy = malloc(size + 1); // So that a sanitizer sees each byte behind the end.
    char *text = malloc(size + 1);
    if (!copy || !text)
        abort();
    memcpy(text, data, size);
    text[size] = '\0';
    check_path(text);
    memcpy(copy, data, size);
    const bool whole = parse_members(copy, size, &list);
    for (size_t i = 0; i < list.count; i++) {
        const struct member *member = &list.items[i];
        if (member->name < copy || member->name + strlen(member->name) >= copy + size ||
            (member->link && member->link + strlen(member->link) >= copy + size) ||
            member->offset > INT64_MAX || member->size > INT64_MAX - member->offset)
            abort();
        check_path(member->name);
        if (member->link)
            check_path(member->link);
    }
    if (whole)
        check_again(&list);
    free(list.items);
    free(copy);
    free(text);
    return 0;
}

#include "member_path.h"

#include <string.h>

bool member_path(const char *path, char ret[MEMBER_PATH_SIZE])
{
    size_t size = 0;
    while (*path) {
        size_t length = strcspn(path, "/");
        bool up = length == 2 && !strncmp(path, "..", 2);
        if (up) {
            while (size && ret[--size] != '/')
                ;
        } else if (length && !(length == 1 && *path == '.')) {
            if (size + length + 2 > MEMBER_PATH_SIZE)
                return false;
            if (size)
                ret[size++] = '/';
            memcpy(ret + size, path, length);
            size += length;
        }
        path += length;
        path += strspn(path, "/");
    }
    ret[size] = '\0';
    return size;
}

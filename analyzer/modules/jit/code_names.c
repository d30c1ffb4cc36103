/* Formats of files with the names of code that was made at run time, as perf(1) reads them. */
#include "code_names.h"

#include <string.h>

/* ---- perf maps ---- */

static bool parse_hexadecimal(const char **at, const char *end, uint64_t *ret)
{
    const char *begin = *at;
    uint64_t value = 0;
    for (; *at < end && value >> 60 == 0; ++*at) {
        char c = **at;
        unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                         : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
                         : c >= 'A' && c <= 'F' ? (unsigned)(c - 'A') + 10
                                                : 16;
        if (digit == 16)
            break;
        value = value << 4 | digit;
    }
    *ret = value;
    return *at > begin;
}

static void pass_prefix(const char **at, const char *end)
{
    if (end - *at > 2 && (*at)[0] == '0' && ((*at)[1] == 'x' || (*at)[1] == 'X'))
        *at += 2;
}

static bool parse_line(const char *at, const char *end, struct code_name *ret)
{
    uint64_t start, size;
    pass_prefix(&at, end);
    if (!parse_hexadecimal(&at, end, &start) || at == end || *at++ != ' ')
        return false;
    pass_prefix(&at, end);
    if (!parse_hexadecimal(&at, end, &size) || at == end || *at++ != ' ' || at == end)
        return false;
    *ret = (struct code_name){start, start + size, at, (size_t)(end - at)};
    return size && start + size > start;
}

bool parse_next_perf_name(const char **at, const char *end, struct code_name *ret)
{
    while (*at < end) {
        const char *line = *at, *stop = memchr(line, '\n', (size_t)(end - line));
        *at = stop ? stop + 1 : end;
        if (parse_line(line, stop ? stop : end, ret))
            return true;
    }
    return false;
}

/* ---- jitdump ---- */

#define JIT_DUMP_MAGIC       0x4a695444u
#define JIT_DUMP_HEADER_SIZE 40u
#define JIT_RECORD_SIZE      16u /* Its id, its size, a time. */
#define JIT_CODE_LOAD        0u
#define JIT_LOAD_SIZE        40u /* pid, tid, vma, code_addr, code_size, code_index; then the name. */
#define JIT_LOAD_ADDRESS     16u
#define JIT_LOAD_CODE_SIZE   24u

bool parse_jit_dump(const uint8_t *bytes, size_t size, struct jit_dump *ret)
{
    if (size < JIT_DUMP_HEADER_SIZE || load_u32(bytes) != JIT_DUMP_MAGIC)
        return false;
    *ret = (struct jit_dump){load_u32(bytes + 8), load_u32(bytes + 20)};
    return ret->header_size >= JIT_DUMP_HEADER_SIZE && ret->header_size <= size;
}

static bool parse_load(const uint8_t *bytes, size_t size, struct code_name *ret)
{
    if (size <= JIT_LOAD_SIZE)
        return false;
    const uint8_t *name = bytes + JIT_LOAD_SIZE;
    const uint8_t *stop = memchr(name, '\0', size - JIT_LOAD_SIZE);
    psc_addr start = load_u64(bytes + JIT_LOAD_ADDRESS);
    uint64_t code_size = load_u64(bytes + JIT_LOAD_CODE_SIZE);
    if (!stop || stop == name)
        return false;
    *ret = (struct code_name){start, start + code_size, (const char *)name, (size_t)(stop - name)};
    return code_size && start + code_size > start;
}

bool parse_next_jit_name(const uint8_t *bytes, size_t size, size_t *at, struct code_name *ret)
{
    while (*at < size && size - *at >= JIT_RECORD_SIZE) {
        const uint8_t *record = bytes + *at;
        uint32_t record_size = load_u32(record + 4);
        if (record_size < JIT_RECORD_SIZE || record_size > size - *at)
            return false;
        *at += record_size;
        if (load_u32(record) == JIT_CODE_LOAD &&
            parse_load(record + JIT_RECORD_SIZE, record_size - JIT_RECORD_SIZE, ret))
            return true;
    }
    return false;
}

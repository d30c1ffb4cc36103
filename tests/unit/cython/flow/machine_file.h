/**
 * An extension made by hand, sound but for the code that a test puts into it: a function that
 * calls PyTraceBack_Here(name %rdi, line %edx, file %rcx), unwind table, relocations, a type whose
 * tp_repr is the function of the test.
 */
#ifndef PSC_MACHINE_FILE_H
#define PSC_MACHINE_FILE_H

#include "cython_private.h"
#include "reports_private.h"

#include <elf.h>
#include <string.h>

#define CODE_AT   0x1000u
#define CODE_SIZE 0x800u
#define FILE_SIZE 0x2000u
#define STRINGS                                                                         \
    "\0PyTraceBack_Here\0PyCode_NewEmpty\0PyErr_ExceptionMatches\0pkg.mod.f\0pkg.mod.g" \
    "\0pkg/mod.pyx\0pkg.mod.Cls\0g\0int (int)\0GOMP_parallel\0_Py_CheckFunctionResult"  \
    "\0_Py_MergeZeroLocalRefcount\0PyErr_Format\0PyThreadState_Get\0PyErr_Occurred"     \
    "\0PyErr_WriteUnraisable"
/* In it. */
#define NAME_F_AT 0x439u
#define NAME_G_AT 0x443u
#define FILE_AT   0x44du
#define TYPE_AT   0x459u
#define PLAIN_AT  0x465u
#define CALL_AT   0x467u
/** The slot of PyErr_ExceptionMatches(). */
#define MATCHES_AT 0xa18u
/** That of GOMP_parallel(). */
#define PARALLEL_AT 0xa20u
/** That of _Py_CheckFunctionResult(). */
#define CHECK_AT 0xa28u
/** That of _Py_MergeZeroLocalRefcount(). */
#define MERGE_AT 0xa30u
/** That of PyErr_Format(). */
#define FORMAT_AT 0xa38u
/** That of PyThreadState_Get(). */
#define THREAD_AT 0xa40u
/** That of PyErr_Occurred(). */
#define OCCURRED_AT 0xa48u
/** That of PyErr_WriteUnraisable(). */
#define UNRAISABLE_AT 0xa50u
/** A function that only stops. */
#define STOP_AT (CODE_AT + 0x100 + CODE_SIZE)
/** One that nothing calls: maybe the body of a parallel block. */
#define BODY_AT   (STOP_AT + 0x10)
#define BODY_SIZE 0x100u

static void put(uint8_t *file, size_t at, const void *bytes, size_t size)
{
    memcpy(file + at, bytes, size);
}

static void put_u32(uint8_t *file, size_t at, uint32_t value)
{
    put(file, at, &value, sizeof(value));
}

/** One description at `at` for [start, end), and its entry in the search table. */
static void put_function(uint8_t *file, unsigned index, uint32_t start, uint32_t end)
{
    uint32_t entry = 0x700 + 0x20 + 20 * index, header = 0x600;
    put_u32(file, entry, 16);
    put_u32(file, entry + 4, entry + 4 - 0x700);
    put_u32(file, entry + 8, start - (entry + 8));
    put_u32(file, entry + 12, end - start);
    put_u32(file, header + 12 + 8 * index, start - header);
    put_u32(file, header + 16 + 8 * index, entry - header);
}

/** An extension of FILE_SIZE bytes whose one function of interest is `code`. */
static void machine_file_make(uint8_t *file, const uint8_t *code, size_t size)
{
    static const uint8_t anchor[] = {
        0x50,                               /* push %rax */
        0x48, 0x89, 0xfe,                   /* mov %rdi,%rsi */
        0x89, 0xd2,                         /* mov %edx,%edx */
        0x48, 0x89, 0xcf,                   /* mov %rcx,%rdi */
        0xff, 0x15, 0xf1, 0xf9, 0xff, 0xff, /* call *0xa00(%rip) below */
        0xff, 0x15, 0xf3, 0xf9, 0xff, 0xff, 0x58, 0xc3,
    };
    static const uint8_t stop[] = {0x0f, 0x0b}; /* ud2 */
    Elf64_Ehdr header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                         .e_type = ET_DYN,
                         .e_machine = EM_X86_64,
                         .e_phoff = 0x40,
                         .e_phentsize = sizeof(Elf64_Phdr),
                         .e_phnum = 3};
    Elf64_Phdr segments[] = {
        {.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_filesz = FILE_SIZE},
        {.p_type = PT_DYNAMIC, .p_vaddr = 0x200, .p_filesz = 0x100},
        {.p_type = PT_GNU_EH_FRAME, .p_vaddr = 0x600, .p_filesz = 0x40},
    };
    Elf64_Dyn dynamic[] = {
        {DT_SYMTAB, {0x1a80}}, {DT_STRTAB, {0x400}}, {DT_STRSZ, {sizeof(STRINGS)}},
        {DT_RELA, {0x1c00}},   {DT_RELASZ, {336}},   {DT_NULL, {0}}};
    Elf64_Sym symbols[] = {{0},
                           {.st_name = 1},
                           {.st_name = 18},
                           {.st_name = 34},
                           {.st_name = 0x71},
                           {.st_name = 0x7f},
                           {.st_name = 0x97},
                           {.st_name = 0xb2},
                           {.st_name = 0xbf},
                           {.st_name = 0xd1},
                           {.st_name = 0xe0}};
    Elf64_Rela relocations[] = {{0xa00, ELF64_R_INFO(2, R_X86_64_GLOB_DAT), 0},
                                {0xa08, ELF64_R_INFO(1, R_X86_64_GLOB_DAT), 0},
                                {0xa10, ELF64_R_INFO(0, R_X86_64_RELATIVE), CODE_AT + 0x100},
                                {MATCHES_AT, ELF64_R_INFO(3, R_X86_64_GLOB_DAT), 0},
                                {PARALLEL_AT, ELF64_R_INFO(4, R_X86_64_GLOB_DAT), 0},
                                {CHECK_AT, ELF64_R_INFO(5, R_X86_64_GLOB_DAT), 0},
                                {MERGE_AT, ELF64_R_INFO(6, R_X86_64_GLOB_DAT), 0},
                                {FORMAT_AT, ELF64_R_INFO(7, R_X86_64_GLOB_DAT), 0},
                                {THREAD_AT, ELF64_R_INFO(8, R_X86_64_GLOB_DAT), 0},
                                {OCCURRED_AT, ELF64_R_INFO(9, R_X86_64_GLOB_DAT), 0},
                                {UNRAISABLE_AT, ELF64_R_INFO(10, R_X86_64_GLOB_DAT), 0},
                                {0xb00, ELF64_R_INFO(0, R_X86_64_RELATIVE), TYPE_AT},
                                {0xb18, ELF64_R_INFO(0, R_X86_64_RELATIVE), 0xb20},
                                {0xb28, ELF64_R_INFO(0, R_X86_64_RELATIVE), CODE_AT + 0x100}};
    static const uint8_t table[] = {1, 0x1b, 3, 0x3b};
    static const uint8_t common[] = {16, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, 16, 1, 0x1b};
    memset(file, 0, FILE_SIZE);
    put(file, 0, &header, sizeof(header));
    put(file, 0x40, segments, sizeof(segments));
    put(file, 0x200, dynamic, sizeof(dynamic));
    put(file, 0x1a80, symbols, sizeof(symbols));
    put(file, 0x400, STRINGS, sizeof(STRINGS));
    put(file, 0x1c00, relocations, sizeof(relocations));
    put(file, 0x600, table, sizeof(table));
    put_u32(file, 0x608, 4);
    put_u32(file, 0xb08, 24); /* basicsize */
    put_u32(file, 0xb10, 1);  /* flags */
    put_u32(file, 0xb20, 66); /* Py_tp_repr */
    put(file, 0x700, common, sizeof(common));
    put_function(file, 0, CODE_AT, CODE_AT + 0x100);
    put_function(file, 1, CODE_AT + 0x100, CODE_AT + 0x100 + CODE_SIZE);
    put_function(file, 2, STOP_AT, STOP_AT + 0x10);
    put_function(file, 3, BODY_AT, BODY_AT + BODY_SIZE);
    put(file, CODE_AT, anchor, sizeof(anchor));
    put(file, STOP_AT, stop, sizeof(stop));
    put(file, CODE_AT + 0x100, code, size < CODE_SIZE ? size : CODE_SIZE);
}

/** Code that begins a block, and behind it reports the line that is kept at 0x18(%rsp). */
static inline void machine_file_put_beginning(uint8_t *file)
{
    static const uint8_t code[] = {
        0x48, 0x83, 0xec, 0x28,                /* sub $0x28,%rsp */
        0x48, 0x8d, 0x3d, 0,    0,    0,    0, /* lea body(%rip),%rdi */
        0x48, 0x8d, 0x74, 0x24, 0x08,          /* lea 8(%rsp),%rsi */
        0xff, 0x15, 0,    0,    0,    0,       /* call *GOMP_parallel(%rip) */
        0x48, 0x8d, 0x3d, 0,    0,    0,    0, /* lea name(%rip),%rdi */
        0x8b, 0x54, 0x24, 0x18,                /* mov 0x18(%rsp),%edx */
        0x48, 0x8d, 0x0d, 0,    0,    0,    0, /* lea file(%rip),%rcx */
        0xe8, 0,    0,    0,    0,             /* call the anchor */
        0x48, 0x83, 0xc4, 0x28, 0x31, 0xc0,    /* add $0x28,%rsp; xor %eax,%eax */
        0xc3,
    };
    static const struct {
        uint8_t at;
        uint32_t to;
    } fields[] = {
        {7, BODY_AT}, {18, PARALLEL_AT}, {25, NAME_F_AT}, {36, FILE_AT}, {41, CODE_AT},
    };
    put(file, CODE_AT + 0x100, code, sizeof(code));
    for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
        uint32_t at = CODE_AT + 0x100 + fields[i].at;
        put_u32(file, at, fields[i].to - (at + 4));
    }
}

static inline void machine_file_put_body(uint8_t *file, const uint8_t *code, size_t size)
{
    put(file, BODY_AT, code, size < BODY_SIZE ? size : BODY_SIZE);
}

#endif

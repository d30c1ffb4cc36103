/**
 * @file
 * Room `modules`: the ELF files mapped into the target, what lies where in
 * them: build-id, symbols, sections, file and line, inlined calls.
 *
 * Answers are about target addresses; the load bias is handled here. A module
 * whose file is missing or mismatched still has its range, name and build-id,
 * and what its dumped pages tell (program headers, .eh_frame_hdr).
 */
#ifndef PSC_MODULES_H
#define PSC_MODULES_H

#include "target.h"

struct symbol_table;
struct module_debug;

struct module {
    const char *path; /**< As the target names it; "[vdso]" for the vdso. */
    const char *name; /**< Its last component. */
    psc_addr start;   /**< Lowest mapped address. */
    psc_addr end;
    psc_addr bias;            /**< Target address minus the file's virtual address. */
    struct target_file *file; /**< NULL for the vdso. */
    struct target_build_id build_id;
    const char *build_id_hex; /**< Lower case, or NULL. */
    bool is_executable_file;  /**< The main program (its range holds AT_PHDR or AT_ENTRY). */
    /** .debug_line or .debug_info, here or in a separate file; known after module_open(). */
    bool has_debug_info;

    /* PT_GNU_EH_FRAME, checked: version 1, encodings 1b 03 3b, table inside; 0 = unusable.
       Known once modules_find() gave the module. */
    psc_addr eh_frame_hdr;
    psc_addr eh_frame_table;   /**< First entry of the binary search table. */
    uint64_t eh_frame_entries; /**< 8 bytes each. */

    /* Owned by modules/; made on first need. */
    struct modules *owner;
    const uint8_t *image; /**< The file's bytes, or the vdso's; NULL when there are none. */
    size_t image_size;
    struct symbol_table *symbols;
    struct module_debug *debug;
};

struct modules;

/** Lists the ELF files of the target's mappings, and its vdso. Keeps `target`. */
PSC_MUST_CHECK enum psc_status modules_create(struct target *target, struct modules **ret,
                                              struct psc_error *err);
void modules_destroy(struct modules *modules);

size_t modules_count(const struct modules *modules);
/** Sorted by start. */
struct module *modules_get(struct modules *modules, size_t index);
/** The module whose range holds the address, or NULL. */
struct module *modules_find(struct modules *modules, psc_addr address);
struct target *modules_target(struct modules *modules);
/**
 * Opens the module's file and looks for its separate debug file, once. The
 * functions below do so themselves; only who reads `image` or `has_debug_info`
 * has to call it.
 */
void module_open(struct module *module);

/* ---- symbols ---- */

struct module_symbol {
    const char *name; /**< The linker's; owned by the module. */
    psc_addr address; /**< In the target. */
    uint64_t size;    /**< 0: unknown. */
};

/**
 * The function that holds the address: from .symtab, else of the separate
 * debug file, else .dynsym. A symbol with a size must cover the address; one
 * without reaches to the next symbol of its section (not in .dynsym, which does
 * not list what lies between). Among several at one address: global before
 * weak before local, then the shortest name. A version ("@@GLIBC_2.2.5") is cut off.
 * @return false when none covers it.
 */
bool module_find_symbol(struct module *module, psc_addr address, struct module_symbol *ret);
/** A defined symbol (function or data) by its exact name; false when there is none. */
bool module_find_symbol_named(struct module *module, const char *name, struct module_symbol *ret);
/** Calls `visit` for each function symbol, until it returns false. */
void module_each_symbol(struct module *module,
                        bool (*visit)(void *context, const struct module_symbol *symbol),
                        void *context);
/** A section by name, from the file; address 0 is possible for unallocated ones. */
bool module_find_section(struct module *module, const char *name, psc_addr *ret_address,
                         uint64_t *ret_size);
/** True when .dynsym imports this name (undefined there). */
bool module_imports(struct module *module, const char *name);

/* ---- lines ---- */

struct module_line {
    const char *file; /**< Absolute where the DWARF tells the directory; owned by the module. */
    uint32_t line;    /**< From 1. */
};

/**
 * File and line of many addresses at once (any order; NULL file where there is
 * none), by one bounded pass over .debug_line, restricted to the units that hold them
 * when .debug_aranges tells. Answers are kept per address.
 * The address is looked up as it is: give call sites, not return addresses.
 */
void module_find_lines(struct module *module, const psc_addr *addresses, size_t count,
                       struct module_line *ret);

/**
 * False when module_find_inlines() would first have to decompress much: libdw decompresses
 * all debug sections at once (95 ms for those of Debian's python3, 60 ms for libc's).
 */
bool module_inlines_are_cheap(struct module *module);

/** One level of inlining at an address. */
struct module_inline {
    const char *function;  /**< DW_AT_linkage_name else DW_AT_name, as the DWARF has it. */
    const char *call_file; /**< Where the call stands, in the function that holds it; or NULL. */
    uint32_t call_line;
};

/**
 * The inlined calls at an address, innermost first; the last one was called from
 * the physical function. By libdw; costs a unit's DIE tree on first touch.
 * @return how many were filled, at most `limit`.
 */
size_t module_find_inlines(struct module *module, psc_addr address, struct module_inline *ret,
                           size_t limit);

/** A function in its source. */
struct module_function {
    const char *name; /**< DW_AT_name, which C++ does not mangle. */
    const char *file; /**< Or NULL. */
    uint32_t line;    /**< Of the name in its definition. */
};

/** The physical function at an address, by libdw; false when the DWARF does not tell. */
bool module_find_function(struct module *module, psc_addr address, struct module_function *ret);

/* ---- variables ---- */

/** One operation of a DWARF expression (DWARF 5, 2.5), as plain data. */
struct debug_operation {
    uint8_t code; /**< DW_OP_...; GNU's forerunners are given as the ones of DWARF 5. */
    /** Addresses are the target's; jumps: index of the operation; parameters: which one. */
    uint64_t number;
    uint64_t number2;     /**< Of typed operations: the size of the type. */
    uint8_t encoding;     /**< Of typed operations: DW_ATE_... of the type. */
    uint16_t offset;      /**< Within the expression. */
    const uint8_t *bytes; /**< DW_OP_implicit_value, DW_OP_const_type: `number` of them. */
    const struct debug_expression *inner; /**< DW_OP_entry_value. */
};

struct debug_expression {
    const struct debug_operation *operations;
    size_t count;
};

enum debug_kind {
    DEBUG_KIND_OTHER, /**< Nothing that this library can show. */
    DEBUG_KIND_VOID,
    DEBUG_KIND_SIGNED,
    DEBUG_KIND_UNSIGNED,
    DEBUG_KIND_CHARACTER,          /**< char and signed char. */
    DEBUG_KIND_UNSIGNED_CHARACTER, /**< unsigned char. */
    DEBUG_KIND_BOOL,
    DEBUG_KIND_FLOAT,
    DEBUG_KIND_COMPLEX,
    DEBUG_KIND_ENUM,
    DEBUG_KIND_POINTER,
    DEBUG_KIND_REFERENCE,
    DEBUG_KIND_STRUCT, /**< Classes too. */
    DEBUG_KIND_UNION,
    DEBUG_KIND_ARRAY,
    DEBUG_KIND_FUNCTION
};

#define DEBUG_DIMENSION_LIMIT 4
/** The size of an incomplete type that is libstdc++'s std::string: a pointer, the length, ... */
#define DEBUG_STRING_SIZE 32u

/** A type; one for each that was met, owned by the module. Typedefs and qualifiers are peeled. */
struct debug_type {
    enum debug_kind kind;
    const char *name; /**< The outermost typedef's, else the type's own; NULL: it has none. */
    const char *tag;  /**< The type's own; NULL: it has none. */
    uint64_t size;    /**< In bytes; 0: not known. */
    bool incomplete;  /**< Only declared here: its members are not known. */
    uint64_t dimensions[DEBUG_DIMENSION_LIMIT]; /**< Of an array; 0: not known. */
    size_t dimension_count;
};

struct debug_member {
    const char *name; /**< NULL: a base class or an unnamed struct, whose members are its own. */
    const struct debug_type *type; /**< NULL: not known. */
    uint64_t offset;
    uint32_t bit_offset; /**< Of a bit field, from `offset`. */
    uint32_t bit_size;   /**< 0: no bit field. */
};

/** What a pointer points to, or what an array holds; NULL: nothing that is known. */
const struct debug_type *debug_type_target(const struct debug_type *type);
/** The nth of a template's arguments that are types; NULL: there is none. */
const struct debug_type *debug_type_argument(const struct debug_type *type, size_t index);
/** In the order of declaration, static ones left out; owned by the module. */
size_t debug_type_members(const struct debug_type *type, const struct debug_member **ret);
/** The name of an enum's value, or NULL. */
const char *debug_type_enumerator(const struct debug_type *type, uint64_t value);

struct debug_variable {
    const char *name;
    const struct debug_type *type; /**< NULL: not known. */
    bool argument;
    uint32_t position;                       /**< Of an argument in the function's declaration. */
    uint32_t line;                           /**< Of its declaration; 0: not known. */
    const struct debug_expression *location; /**< NULL: nowhere at this address. */
    const uint8_t *constant; /**< DW_AT_const_value: its bytes, instead of a location. */
    size_t constant_size;
};

/** A function at an address: the physical one, or one that was inlined. */
struct debug_scope {
    const char *function;             /**< As struct module_inline has it; NULL: none. */
    struct debug_variable *variables; /**< Arguments first, then from inner blocks outward. */
    size_t count;
    size_t argument_count; /**< Of the declaration; not all of them may be among the variables. */
};

/** The functions that an address is in, innermost first, and their variables there. */
struct debug_scopes {
    struct debug_scope *items;
    size_t count;
    const struct debug_expression *frame_base; /**< Of the physical function, or NULL. */
    psc_addr entry;                            /**< Where that begins, in the target; 0: unknown. */
};

/**
 * Arguments and variables of the code at an address (of the call, not behind it), by libdw.
 * @return what was found, once for each address, and is owned by the module; NULL for nothing.
 */
const struct debug_scopes *module_find_variables(struct module *module, psc_addr address);

/** What a caller has put into a register. */
struct debug_call_parameter {
    uint8_t register_number;
    uint64_t parameter; /**< Instead of a register: which of those not handed over; 0. */
    const struct debug_expression *value;
};

/** A call, as the compiler describes it for those who look for what the arguments were. */
struct debug_call_site {
    psc_addr target;  /**< The function that is called, in the target; 0: see the others. */
    const char *name; /**< Or its linker name, or NULL. */
    const struct debug_expression *target_value; /**< Of a call through a pointer, or NULL. */
    struct debug_call_parameter *parameters;
    size_t count;
};

/**
 * The call that returns to an address.
 * @return as module_find_variables().
 */
const struct debug_call_site *module_find_call_site(struct module *module, psc_addr return_address);
/**
 * What a call site tells of an expression as it was when the function was entered:
 * DW_OP_entry_value of a register, or DW_OP_GNU_parameter_ref. NULL: nothing.
 */
const struct debug_call_parameter *debug_call_site_find(const struct debug_call_site *site,
                                                        const struct debug_expression *wanted);

/* ---- for native/: libdw's view of the file ---- */

struct Elf;
struct Dwarf;
/** The file, opened by libelf from its mapped bytes; NULL when there is none. */
struct Elf *module_elf(struct module *module);
/** DWARF of the file or of its separate debug file; NULL when there is none. */
struct Dwarf *module_dwarf(struct module *module);

/* ---- names ---- */

/**
 * C++ and Rust names as debuggers print them in a backtrace (libiberty): qualified,
 * with template arguments, without the list of parameters, Rust's hash and the
 * compiler's suffixes (.cold, .part.0, .constprop.0, .isra.0, ...).
 * @return malloc'd, or NULL when the name is not mangled.
 */
char *demangle_symbol(const char *symbol);

#endif

/**
 * @file
 * Room `dwarf`: what a module's DWARF tells: file and line, inlined calls, types, variables, call
 * sites. By libdw, but for lines, which the room `debug_line` finds faster. Each answer is kept,
 * and lives as long as the module.
 */
#ifndef PSC_DWARF_H
#define PSC_DWARF_H

#include "base.h"

struct Dwarf;
struct module;
struct module_dwarf;

/** Frees all that was found and opened; NULL is nothing. */
void module_dwarf_destroy(struct module_dwarf *dwarf);
/** libdw's handle of the file or of its separate debug file; NULL when there is none. */
struct Dwarf *module_dwarf(struct module *module);

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

/** What follows the code of an operation. */
enum debug_operand {
    DEBUG_OPERAND_NONE,
    DEBUG_OPERAND_1, /**< So many bytes. */
    DEBUG_OPERAND_2,
    DEBUG_OPERAND_4,
    DEBUG_OPERAND_8,
    DEBUG_OPERAND_LEB,            /**< LEB128, signed or not. */
    DEBUG_OPERAND_NUMBER,         /**< Another that is taken as it is. */
    DEBUG_OPERAND_ADDRESS,        /**< Of the file. */
    DEBUG_OPERAND_ADDRESS_INDEX,  /**< Into .debug_addr. */
    DEBUG_OPERAND_CONSTANT_INDEX, /**< The same of what is no address. */
    DEBUG_OPERAND_BLOCK,
    DEBUG_OPERAND_TYPE,
    DEBUG_OPERAND_TYPE_OR_ADDRESS, /**< 0 is the type of addresses. */
    DEBUG_OPERAND_PARAMETER,
    DEBUG_OPERAND_EXPRESSION
};

/** What is to be known of an operation to read it, to check it and to run it. */
struct debug_operation_kind {
    bool known;
    bool in_frames;      /**< Call frame information may have it. */
    uint8_t takes;       /**< Numbers on the stack, at least. */
    uint8_t leaves;      /**< As many are there instead. */
    uint8_t operands[2]; /**< enum debug_operand */
    uint8_t standard;    /**< Of GNU's forerunners, which have nothing else: the one of DWARF 5. */
};
const struct debug_operation_kind *debug_find_operation(uint8_t code);

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

/** What a caller passes: in a register, or a parameter that the compiler has left out. */
struct debug_call_parameter {
    uint8_t register_number;
    uint64_t parameter; /**< Left out: as DW_OP_GNU_parameter_ref names it; else 0. */
    const struct debug_expression *value;
};

/** DW_TAG_call_site: what the code of a caller tells of the arguments of a call. */
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

#endif

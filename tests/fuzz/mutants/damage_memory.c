/* Damage to words and bytes of memory that the library reads. */
#include "mutants.h"

#include <string.h>

#define OBJECT 64 /* Bytes of an object that are copied over another one. */

struct damage {
    struct choice *choice;
    const struct places *places;
    struct memory *memory;
};

/* Each reader's code has the same chance, whether it read one word or ten thousand. */
static const struct place *choose_place(const struct damage *damage, size_t site)
{
    const struct places *places = damage->places;
    size_t first = places->first[site], count = places->first[site + 1] - first;
    return &places->items[first + choose_below(damage->choice, count)];
}

static const struct place *choose_any(const struct damage *damage)
{
    return choose_place(damage, choose_below(damage->choice, damage->places->site_count));
}

/* A word of what was read there, aligned as it is. */
static uint64_t choose_word(const struct damage *damage, const struct place *place)
{
    return place->address + 8 * choose_below(damage->choice, place->size / 8);
}

static uint64_t word_at(const struct damage *damage, uint64_t address)
{
    uint64_t word = 0;
    return memory_read(damage->memory, address, &word, sizeof(word)) ? word : 0;
}

static uint64_t other_pointer(const struct damage *damage, const struct place *place,
                              uint64_t address, uint64_t pointer)
{
    struct choice *choice = damage->choice;
    const struct segment *in = memory_find(damage->memory, pointer);
    switch (choose_below(choice, 11)) {
    case 0:
        return address; // Leads to itself.
    case 1:
        return place->address;
    case 2: // A neighbour's: chains become cycles, or two of them one.
    case 3:
        return word_at(damage, choose_word(damage, choose_place(damage, place->site)));
    case 4: // Something of another kind.
        return word_at(damage, choose_word(damage, choose_any(damage)));
    case 5:
        return choose_any(damage)->address;
    case 6:
        return 0;
    case 7:
        return pointer + 1 + choose_below(choice, 15);
    case 8: // The end of what can be read lies within the object.
        return in ? in->start + in->size - choose_below(choice, 64) : pointer;
    case 9:
        return pointer ^ (uint64_t)1 << (12 + choose_below(choice, 52));
    default:
        return choose_number(choice, pointer);
    }
}

static void damage_word(const struct damage *damage, const struct place *place)
{
    uint64_t address = choose_word(damage, place), word = word_at(damage, address);
    uint64_t other = memory_find(damage->memory, word) ? other_pointer(damage, place, address, word)
                                                       : choose_number(damage->choice, word);
    memory_write(damage->memory, address, &other, sizeof(other));
}

static void damage_half_word(const struct damage *damage, const struct place *place)
{
    size_t width = (size_t)1 << choose_below(damage->choice, 3);
    if (width > place->size)
        width = place->size;
    uint64_t address = place->address + width * choose_below(damage->choice, place->size / width);
    uint64_t other = choose_number(damage->choice, word_at(damage, address));
    memory_write(damage->memory, address, &other, width);
}

static void damage_text_there(const struct damage *damage, const struct place *place)
{
    static const char *const texts[] = {
        "\xff\xfe", "\xc0\x80", "\xed\xa0\x80", "\xf5\x80\x80\x80", "\xe2\x80\xae", "\x1b[2J",
        "\x07\x08", "\"\\\n",   "%s%n",         "../../../",        "\x80",         "\xe2\x80\xa8"};
    const char *text = texts[choose_below(damage->choice, sizeof(texts) / sizeof(*texts))];
    memory_write(damage->memory, place->address + choose_below(damage->choice, place->size), text,
                 strlen(text));
}

/* One object in another one's place. */
static void damage_object(const struct damage *damage, const struct place *place)
{
    uint8_t object[OBJECT];
    const struct place *from =
        choose_one_in(damage->choice, 2) ? choose_any(damage) : choose_place(damage, place->site);
    if (memory_read(damage->memory, from->address, object, sizeof(object)))
        memory_write(damage->memory, place->address, object, sizeof(object));
}

static void damage_filled(const struct damage *damage, const struct place *place)
{
    static const uint8_t fillings[] = {0, 0xff, 0x41, 0x80, 1};
    uint8_t bytes[OBJECT];
    memset(bytes, fillings[choose_below(damage->choice, sizeof(fillings))], sizeof(bytes));
    memory_write(damage->memory, place->address, bytes,
                 1 + choose_below(damage->choice, sizeof(bytes)));
}

void damage_memory(struct choice *choice, const struct places *places, struct memory *memory)
{
    static const size_t amounts[] = {1, 1, 1, 2, 4, 16, 100};
    const struct damage damage = {choice, places, memory};
    if (!places->site_count)
        return;
    size_t amount = amounts[choose_below(choice, sizeof(amounts) / sizeof(*amounts))];
    // All at one reader's places, or anywhere.
    bool together = choose_one_in(choice, 3);
    size_t site = choose_below(choice, places->site_count);
    for (size_t i = 0; i < amount; i++) {
        const struct place *place = together ? choose_place(&damage, site) : choose_any(&damage);
        switch (choose_below(choice, 8)) {
        case 0:
            damage_half_word(&damage, place);
            break;
        case 1:
            damage_text_there(&damage, place);
            break;
        case 2:
            damage_object(&damage, place);
            break;
        case 3:
            damage_filled(&damage, place);
            break;
        default:
            if (place->size >= 8)
                damage_word(&damage, place);
            else
                damage_half_word(&damage, place);
        }
    }
}

/*
 * Functions whose arguments and variables are of every kind, and which call each other until
 * one of them dies. Made by: cc -g -O0 (-O2) values.c -lm
 */
#include <complex.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define APART __attribute__((noinline, noclone))

enum colour { RED, GREEN = 5, BLUE = -3 };
typedef unsigned long long big;

struct inner {
    double ratio;
    char letter;
    unsigned low : 3;
    signed middle : 5;
    bool flag : 1;
};

struct node {
    struct node *next;
    int numbers[3];
    struct inner inner;
    enum colour colour;
    const char *label;
    union {
        uint32_t word;
        uint8_t bytes[4];
    } either;
};

static int (*volatile chosen)(int);
static volatile int one = 1;

APART static int twice(int number)
{
    return number * 2;
}

/* Inlined, so that its variables lie in its caller's frame. */
static inline __attribute__((always_inline)) int inlined(int count, const struct node *node)
{
    int sum = node->numbers[0] + count;
    if (sum != one)
        abort();
    return sum;
}

APART static int innermost(signed char tiny, unsigned char byte, short small, unsigned short word,
                           int plain, unsigned positive, long wide, big huge,
                           const struct node *node)
{
    int local = (int)wide + plain;
    int result = inlined(local, node);
    return result + tiny + byte + small + word + (int)positive + (int)huge;
}

APART static int middle(float single, double precise, long double extended, double complex pair,
                        bool yes, enum colour colour, const char *text, void *anything,
                        int (*function)(int))
{
    struct node node = {.next = NULL, .numbers = {7, 8, 9}, .colour = colour, .label = text};
    char buffer[300] = "some \"quoted\" text\n";
    double grid[2][3] = {{1, 2.5, -3}, {1e300, 0.1, 5}};
    int *pointer = &node.numbers[one];
    int kept = function(3) + one;
    node.inner =
        (struct inner){.ratio = single, .letter = 'q', .low = 5, .middle = -7, .flag = yes};
    node.either.word = 0x01020304;
    int result = innermost(-5, 200, -30000, 60000, kept, 4000000000u, -5000000000L,
                           18446744073709551615ULL, &node);
    return result + kept + *pointer + (int)precise + (int)extended + (int)creal(pair) +
           buffer[one] + (int)grid[one][1] + (anything != NULL);
}

/* Arguments that only the caller still has. */
APART static int spends(int first, long second, const char *third)
{
    size_t length = strlen(third);
    int answer = middle(1.5f, 2.25, 3.125L, 1.0 - 2.0 * I, true, GREEN, "label", &chosen, chosen);
    return answer + (int)length;
}

APART static int recurse(int depth, int factor)
{
    int product = depth * factor;
    if (depth > 2)
        return spends(product, -1, "third argument");
    int below = recurse(depth + 1, factor + 1);
    return below + product;
}

int main(int argc, char **argv)
{
    chosen = twice;
    int answer = recurse(argc - 1, 10);
    return answer == (int)strlen(argv[0]);
}

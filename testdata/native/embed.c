/* A program that embeds Python and runs the script it is given.
 * Made by: cc -g -O1 $(python3-config --includes) -o embed embed.c $(python3-config --embed
 * --ldflags) */
#include <Python.h>

int main(int argc, char **argv)
{
    return Py_BytesMain(argc, argv);
}

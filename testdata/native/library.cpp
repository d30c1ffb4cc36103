/*
 * A function whose variables are of C++'s library and of every kind of class, and which dies.
 * Made by: c++ -std=c++17 -g -O0 library.cpp
 */
#include <array>
#include <atomic>
#include <complex>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <forward_list>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <set>
#include <stack>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

struct First {
    int first_own = 1;
    virtual ~First() = default;
};
struct Second {
    short second_own = 7;
};
struct Derived : First, Second {
    std::string name = "derived";
    std::vector<int> rows{4, 5};
};
struct Unfinished;
struct Wide {
    long double large;
    int small;
};
enum class Colour : unsigned char { Red, Green = 200 };
enum Flags { A = 1, B = 2, C = 4 };

static volatile int zero = 0;

__attribute__((noinline)) int dies(const std::string &text, const std::vector<int> &numbers, Derived &object,
                                   std::map<std::string, int> *map, Unfinished *unfinished)
{
    std::string empty;
    std::string heap(1000, 'x');
    std::string zeros("a\0b", 3);
    std::wstring wide = L"wide \u00e4";
    std::u16string sixteen = u"\U0001f40d16";
    std::u32string thirty_two = U"thirty-two";
    std::string_view view = std::string_view(text).substr(0, 4);
    const wchar_t *wide_pointer = L"pointer";
    char16_t letter = u'x';
    std::vector<double> none;
    std::vector<bool> bits(70, true);
    std::vector<std::vector<int>> nested{{1, 2}, {}, {3}};
    std::vector<std::string> strings{"a", "a text that is longer than sixteen"};
    std::vector<int> many(1000, 7);
    std::vector<Wide> structs{{1.5L, 2}};
    std::map<std::string, int> named{{"one", 1}, {"two", 2}, {"three", 3}};
    std::map<int, std::vector<int>> lists{{1, {1}}, {2, {2, 2}}};
    std::map<int, long double> wide_map{{1, 1.5L}};
    std::multimap<int, char> twice{{1, 'a'}, {1, 'b'}};
    std::set<int> ordered{30, 10, 20, 50, 40, 70, 60};
    std::unordered_map<int, std::string> hashed{{5, "five"}};
    std::unordered_map<int, long double> wide_hashed{{5, 2.5L}};
    std::unordered_set<short> hashed_set{9};
    std::list<int> linked{1, 2, 3};
    std::forward_list<char> forward{'a', 'b'};
    std::deque<int> both;
    for (int i = 0; i < 300; i++)
        both.push_back(i);
    for (int i = 0; i < 290; i++)
        both.pop_front();
    std::stack<int> stacked;
    stacked.push(6);
    std::priority_queue<int> heaped;
    heaped.push(8);
    std::array<int, 3> fixed{{7, 8, 9}};
    std::pair<int, std::string> pair{1, "one"};
    std::tuple<int, double, std::string> tuple{1, 2.5, "t"};
    std::optional<int> some{5}, nothing;
    std::complex<double> complex{1.5, -2};
    std::atomic<int> counted{77};
    std::shared_ptr<int> shared = std::make_shared<int>(12), nobody;
    std::weak_ptr<int> weak = shared;
    std::unique_ptr<Derived> owned(new Derived);
    std::unique_ptr<int[]> array(new int[3]{1, 2, 3});
    Colour colour = Colour::Green;
    Flags both_flags = Flags(A | C), odd_flags = Flags(64 | A), no_flags = Flags(0);
    decltype(nullptr) null = nullptr;
    unsigned char bytes[3] = {65, 66, 67};
    int lambda_offset = 3;
    auto lambda = [&numbers, lambda_offset](int x) { return x + lambda_offset + (int)numbers.size(); };
    volatile int *place = nullptr;
    *place = lambda(zero);
    return (int)(heap.size() + zeros.size() + wide.size() + sixteen.size() + thirty_two.size() + view.size() +
                 bits.size() + many.size() + hashed_set.size() + *shared + array[0] + wide_pointer[0] + letter +
                 bytes[0] + (null == nullptr) + (map != nullptr) + (unfinished != nullptr) + (int)colour + both_flags +
                 odd_flags + no_flags);
}

int main()
{
    std::map<std::string, int> map{{"key", 1}};
    Derived object;
    return dies("text \"quoted\"\n", {1, 2, 3}, object, &map, nullptr);
}

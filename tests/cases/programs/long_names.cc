// Functions of C++ whose names are long, some alike but for one argument of a template.
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace a_namespace_of_some_length
{
template <class Key, class Value> struct holder_of_values {
    template <class... Rest> static int descend(const std::string &name, const Rest &...rest);
};

template <class Key, class Value>
template <class... Rest>
__attribute__((noinline)) int holder_of_values<Key, Value>::descend(const std::string &name,
                                                                    const Rest &...rest)
{
    if constexpr (sizeof...(Rest) == 1)
        abort();
    else if constexpr (sizeof...(Rest) == 2)
        return descend<int>(name, 1) + 1;
    else
        return descend<int, std::map<std::string, std::vector<std::string>>>(name, 1, {}) + 1;
}
}

int main()
{
    using namespace a_namespace_of_some_length;
    std::map<std::string, std::vector<std::string>> values;
    std::function<int(const std::string &)> call = [&values](const std::string &name) {
        return holder_of_values<std::string, std::map<std::string, std::string>>::descend(
                   name, 1, values, std::string("x")) + 1;
    };
    return call("name");
}

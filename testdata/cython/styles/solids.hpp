#include <stdexcept>

namespace shapes {
class Shape {
public:
    explicit Shape(double size) : size_(size) {}
    virtual ~Shape() {}
    virtual double area() const { return size_ * size_; }

private:
    double size_;
};

inline double may_throw(double x)
{
    if (x < 0)
        throw std::invalid_argument("negative");
    return x;
}
}

// One class for three sources: one has the bodies, one makes objects, one calls.
#include <oclave/virtual.hpp>

struct worker {
    int pay;
    worker(int pay) : pay(pay) {}
    virtual int work(int hours);
    INDIRECTLY_CALLABLE(workers) virtual int rest(int hours) { return pay * hours / 2; }
};
struct expert : worker {
    expert(int pay) : worker(pay) {}
    int work(int hours) override;
};

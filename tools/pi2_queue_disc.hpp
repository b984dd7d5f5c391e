/* PI2 as a queue disc of ns-3: what the thesis on it adds, by the pseudo code of its Appendix C.
 *
 * A number of its own is only what Table C.1 and Table C.2 name. The departure rate is estimated over DequeueThreshold
 * bytes, with half of the weight on the last measurement; p' has no limit, and decays while the queue is idle; two
 * packets are spared. The first update comes at time 0, as of ns-3's PIE.
 */
#include "ns3/double.h"
#include "ns3/drop-tail-queue.h"
#include "ns3/event-id.h"
#include "ns3/nstime.h"
#include "ns3/queue-disc.h"
#include "ns3/random-variable-stream.h"
#include "ns3/simulator.h"
#include "ns3/uinteger.h"

namespace pi2
{

using namespace ns3;

class ThesisPi2 : public QueueDisc
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId made =
            TypeId("pi2::ThesisPi2")
                .SetParent<QueueDisc>()
                .AddConstructor<ThesisPi2>()
                .AddAttribute("A", "alpha (Hz)", DoubleValue(0.3125), MakeDoubleAccessor(&ThesisPi2::alpha),
                              MakeDoubleChecker<double>())
                .AddAttribute("B", "beta (Hz)", DoubleValue(3.125), MakeDoubleAccessor(&ThesisPi2::beta),
                              MakeDoubleChecker<double>())
                .AddAttribute("Tupdate", "between updates", TimeValue(MilliSeconds(30)),
                              MakeTimeAccessor(&ThesisPi2::interval), MakeTimeChecker())
                .AddAttribute("QueueDelayReference", "target", TimeValue(MilliSeconds(20)),
                              MakeTimeAccessor(&ThesisPi2::target), MakeTimeChecker())
                .AddAttribute("DequeueThreshold", "bytes of a measurement", UintegerValue(10000),
                              MakeUintegerAccessor(&ThesisPi2::threshold), MakeUintegerChecker<uint32_t>())
                .AddAttribute("MaxSize", "room", QueueSizeValue(QueueSize("200p")),
                              MakeQueueSizeAccessor(&QueueDisc::SetMaxSize, &QueueDisc::GetMaxSize),
                              MakeQueueSizeChecker());
        return made;
    }

    ThesisPi2() : QueueDisc(QueueDiscSizePolicy::SINGLE_INTERNAL_QUEUE)
    {
        lot = CreateObject<UniformRandomVariable>();
        Simulator::Schedule(Seconds(0), &ThesisPi2::update, this);
    }

  private:
    enum { SPARED = 2 }; /* packets */
    double alpha = 0.0, beta = 0.0, p_prime = 0.0, rate = 0.0; /* Hz, Hz, -, bytes per second */
    Time interval, target, delay_before;
    uint32_t threshold = 0, counted = 0; /* bytes */
    bool measures = false;
    Time since;
    Ptr<UniformRandomVariable> lot;

    bool DoEnqueue(Ptr<QueueDiscItem> item) override
    {
        if (GetCurrentSize() + item > GetMaxSize()) {
            DropBeforeEnqueue(item, "Forced drop");
            return false;
        }
        if (GetInternalQueue(0)->GetNPackets() > SPARED && lot->GetValue() <= p_prime * p_prime) {
            DropBeforeEnqueue(item, "Unforced drop");
            return false;
        }
        return GetInternalQueue(0)->Enqueue(item);
    }

    Ptr<QueueDiscItem> DoDequeue() override
    {
        const Ptr<QueueDiscItem> item = GetInternalQueue(0)->Dequeue();
        if (item)
            measure(item->GetSize(), GetInternalQueue(0)->GetNBytes());
        return item;
    }

    void measure(uint32_t bytes, uint32_t left)
    {
        if (left >= threshold && !measures)
            begin();
        if (!measures)
            return;
        counted += bytes;
        if (counted < threshold)
            return;
        const double time = (Simulator::Now() - since).GetSeconds();
        if (time > 0.0)
            rate = rate == 0.0 ? counted / time : 0.5 * rate + 0.5 * counted / time;
        if (left > threshold)
            begin();
        else
            measures = false;
    }

    void begin()
    {
        since = Simulator::Now();
        counted = 0;
        measures = true;
    }

    void update()
    {
        const bool known = rate > 0.0;
        const Time delay = Seconds(known ? GetInternalQueue(0)->GetNBytes() / rate : 0.0);
        p_prime += alpha * (delay - target).GetSeconds() + beta * (delay - delay_before).GetSeconds();
        if (delay.IsZero() && delay_before.IsZero())
            p_prime *= 0.98;
        p_prime = std::max(0.0, p_prime);
        if (delay < target / 2 && delay_before < target / 2 && p_prime == 0.0 && known) {
            counted = 0; /* a measurement that is under way goes on since its begin, as there */
            rate = 0.0;
        }
        delay_before = delay;
        Simulator::Schedule(interval, &ThesisPi2::update, this);
    }

    bool CheckConfig() override
    {
        if (GetNInternalQueues() == 0)
            AddInternalQueue(CreateObjectWithAttributes<DropTailQueue<QueueDiscItem>>("MaxSize", QueueSizeValue(GetMaxSize())));
        return GetNInternalQueues() == 1 && GetNQueueDiscClasses() == 0 && GetNPacketFilters() == 0;
    }

    void InitializeParams() override {}
};

static const TypeId registered = ThesisPi2::GetTypeId();

} // namespace pi2

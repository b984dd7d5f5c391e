/* Links in a row in ns-3, and what is counted there: compiled by cppyy's interpreter in the child process.
 *
 * Senders and receivers sit on nodes whose links are fast enough to be nowhere, unless their rate is asked for; what the
 * links leave of the path's delay lies on the sender's. A class crosses links that follow one another, and leaves the row behind the last of them.
 * A node has several flows of one class: ns-3 goes through all sockets of a node for each packet, and through all
 * nodes at each router. The device below the queue discipline holds one packet, the fewest that ns-3 allows, beside
 * the one that it transmits. Counts have the shape and the units of the package's own packets, see result/runs.py.
 */
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

#include "ns3/codel-queue-disc.h"
#include "ns3/data-rate.h"
#include "ns3/drop-tail-queue.h"
#include "ns3/error-model.h"
#include "ns3/inet-socket-address.h"
#include "ns3/internet-stack-helper.h"
#include "ns3/ipv4-address-helper.h"
#include "ns3/ipv4-global-routing-helper.h"
#include "ns3/ipv4-queue-disc-item.h"
#include "ns3/node-container.h"
#include "ns3/pie-queue-disc.h"
#include "ns3/point-to-point-channel.h"
#include "ns3/point-to-point-helper.h"
#include "ns3/point-to-point-net-device.h"
#include "ns3/pointer.h"
#include "ns3/queue-disc.h"
#include "ns3/random-variable-stream.h"
#include "ns3/red-queue-disc.h"
#include "ns3/rng-seed-manager.h"
#include "ns3/simulator.h"
#include "ns3/string.h"
#include "ns3/tcp-congestion-ops.h"
#include "ns3/tcp-l4-protocol.h"
#include "ns3/tcp-socket-base.h"
#include "ns3/traffic-control-helper.h"
#include "ns3/traffic-control-layer.h"
#include "ns3/udp-socket-factory.h"
#include "ns3/uinteger.h"

namespace pi2
{

using namespace ns3;

/* What a law has computed is private in ns-3 and has no trace. An explicit instantiation may name it all the same. */
template <typename Tag, typename Tag::type Member> struct Opened {
    friend typename Tag::type open(Tag) { return Member; }
};
#define PI2_OPEN(name, type_, class_, member)          \
    struct name {                                      \
        typedef type_ class_::*type;                   \
        friend type open(name);                        \
    };                                                 \
    template struct Opened<name, &class_::member>;
PI2_OPEN(PieProbability, double, PieQueueDisc, m_dropProb)
PI2_OPEN(PieBurst, Time, PieQueueDisc, m_burstAllowance)
PI2_OPEN(RedAverage, double, RedQueueDisc, m_qAvg)
PI2_OPEN(RedMost, double, RedQueueDisc, m_curMaxP)
PI2_OPEN(RedLow, double, RedQueueDisc, m_minTh)
PI2_OPEN(RedHigh, double, RedQueueDisc, m_maxTh)
PI2_OPEN(RedGentle, bool, RedQueueDisc, m_isGentle)
PI2_OPEN(CoDelDropping, TracedValue<bool>, CoDelQueueDisc, m_dropping)
PI2_OPEN(CoDelRoot, uint16_t, CoDelQueueDisc, m_recInvSqrt)

enum { FIRST_PORT = 1024, SINK_PORT = 1000, IP_BYTES = 20, UDP_BYTES = 8, PPP_BYTES = 2, PER_NET = 200 };
enum { FEWEST = 16 }; /* flows of a node, if there are as many */
enum { SENT, DELIVERED, DROP_AQM, DROP_FULL, MARK_AQM, QUEUED, IN_FLIGHT, TOTALS };
enum { RETRANSMISSIONS, TIMEOUTS, ENDS };
enum { ARRIVALS, DEPARTURES, BITS, DROPS, MARKS, SOJOURN, COLUMNS };
static const double NS = 1e9;

/* An object of ns-3 by its TypeId, and its attributes as text. */
struct Described {
    std::string type;
    std::vector<std::string> names, values;
    void set(const std::string &name, const std::string &value)
    {
        names.push_back(name);
        values.push_back(value);
    }
    ObjectFactory factory() const
    {
        ObjectFactory made(type);
        for (size_t i = 0; i < names.size(); i++)
            made.Set(names[i], StringValue(values[i]));
        return made;
    }
};

struct Class {
    Described congestion; /* without a type: constant bit rate */
    int64_t interval = 0; /* ns between its packets then */
    int first = 0, last = 0, leg = 0; /* links that it crosses, and where it is counted at the first */
    int64_t rtt = 0, access = 0, jitter = 0; /* ns; of the path, and on the way to the first link and back from it */
    uint32_t initial_window = 10;
    bool slow_start = true, delayed_ack = true, ecn = false;
};

struct Link {
    Described queue;
    std::vector<std::string> full; /* the reasons of drops for want of room */
    double capacity = 0.0; /* bit/s */
    int64_t delay = 0; /* ns, to the next one */
};

struct Change {
    int64_t at; /* ns */
    int link;
    double capacity; /* bit/s */
};

struct Life {
    int owner;
    int64_t start, stop; /* ns */
};

struct Request {
    std::vector<Link> links;
    std::vector<Class> classes;
    std::vector<Change> changes;
    std::vector<Life> flows; /* those of a class next to each other */
    std::vector<int64_t> edges; /* us, of the buckets of delays */
    uint32_t packet_size = 0, segment = 0, window_bytes = 0; /* bytes; the last of socket buffers */
    int64_t duration = 0, bin = 0; /* ns */
    int per_block = 1; /* bins */
    double access = 0.0; /* bit/s, of the links of senders and receivers; 0: so fast that they are nowhere */
    uint64_t seed = 0;
    void add_link(const Link &one) { links.push_back(one); }
    void add_class(const Class &one) { classes.push_back(one); }
    void add_change(int64_t at, int link, double rate) { changes.push_back({at, link, rate}); }
    void add_flow(int owner, int64_t start, int64_t stop) { flows.push_back({owner, start, stop}); }
};

class Run;

/* A pair of nodes. */
struct Host {
    int owner, first; /* class, and number of its first flow */
};

struct Flow {
    Run *run = nullptr;
    int index = 0, owner = 0, host = 0;
    uint16_t port = 0;
    int64_t stop = 0;
    bool gone = false;
    double window = 0.0; /* segments */
    uint32_t departed = 0;
    Ptr<Socket> socket;

    void come();
    void go();
    void connected(Ptr<Socket>) { fill(socket, 0); }
    void fill(Ptr<Socket>, uint32_t);
    void send();
    void window_moved(uint32_t, uint32_t);
    void state_moved(TcpSocketState::TcpCongState_t, TcpSocketState::TcpCongState_t);
    void sent_again(Ptr<const Packet>, const TcpHeader &, const Address &, const Address &, Ptr<const TcpSocketBase>);
};

/* A class. */
struct Counts {
    double window = 0.0, there = 0.0; /* now: segments, flows */
    double window_area = 0.0, there_area = 0.0;
    int64_t since = 0;
    double ends[ENDS] = {};
};

/* A class at a link. */
struct Leg {
    double row[COLUMNS] = {};
    double totals[TOTALS] = {};
};

/* A link and its queue. */
struct Hop {
    Run *run = nullptr;
    int index = 0;
    Ptr<QueueDisc> disc;
    Ptr<PointToPointNetDevice> out;
    double backlog = 0.0, area = 0.0, square = 0.0; /* bytes, and over ns */
    int64_t changed = 0;

    Leg &leg_of(const Flow *flow);
    void set_capacity(double rate);
    void trace();
    void enqueued(Ptr<const QueueDiscItem> item);
    void dequeued(Ptr<const QueueDiscItem> item) { count_departure(item, 1); }
    void dropped_before(Ptr<const QueueDiscItem> item, const char *reason);
    void dropped_after(Ptr<const QueueDiscItem> item, const char *reason);
    void marked(Ptr<const QueueDiscItem> item, const char *reason);
    void left_link(Ptr<const Packet> packet);
    void count_departure(Ptr<const QueueDiscItem> item, int sign);
    void count_drop(const Flow *flow, const char *reason);
    void move_backlog(double bytes);
    void probe(double *row) const;
};

/* Keeps out what a flow that has gone still sends. */
class Gate : public ErrorModel
{
  public:
    Run *run = nullptr;

  private:
    bool DoCorrupt(Ptr<Packet> packet) override;
    void DoReset() override {}
};

class Run
{
  public:
    Request request;
    std::vector<double> bins, bands, legs, classes, totals, ends;
    std::vector<uint32_t> delays, segments;

    explicit Run(const Request &asked) : request(asked) {}
    void simulate();

    std::vector<Flow> flows;
    std::vector<Host> hosts;
    std::vector<Counts> counts;
    std::vector<Leg> crossed;
    std::vector<Hop> hops;
    NodeContainer left, right, routers;
    int bin = 0;

    static int64_t now() { return Simulator::Now().GetNanoSeconds(); }

    uint64_t framed(double rate) const
    {
        return uint64_t(std::llround(rate * (request.packet_size + PPP_BYTES) / request.packet_size));
    }
    Flow *flow_of(uint32_t address, const uint8_t *ports)
    {
        const Host &host = hosts[size_t((address >> 16 & 255) * PER_NET + (address >> 8 & 255))];
        return &flows[size_t(host.first + (ports[0] << 8 | ports[1]) - FIRST_PORT)];
    }
    Flow *flow_of_frame(Ptr<const Packet> packet)
    {
        uint8_t head[PPP_BYTES + IP_BYTES + 2] = {};
        const uint8_t *ip = head + PPP_BYTES;
        packet->CopyData(head, sizeof head);
        return flow_of(uint32_t(ip[12]) << 24 | uint32_t(ip[13]) << 16 | uint32_t(ip[14]) << 8 | ip[15],
                       ip + IP_BYTES);
    }
    Flow *flow_of_item(Ptr<const QueueDiscItem> item);
    Ptr<TcpSocketBase> make_socket(Ptr<Node> node, const Class &of);
    void integrate(int owner);

  private:
    Ptr<UniformRandomVariable> chance;
    Ptr<Gate> gate;
    std::vector<Ptr<Socket>> sinks;

    void build();
    void build_links(PointToPointHelper &helper);
    void place();
    void listen(size_t host);
    void accepted(Ptr<Socket> socket, const Address &);
    void drain(Ptr<Socket> socket);
    void end_bin();
    void report();
};

/* Flows */

void Flow::come()
{
    const Class &of = run->request.classes[size_t(owner)];
    const Ptr<Node> node = run->left.Get(uint32_t(host));
    const Ptr<Ipv4> there = run->right.Get(uint32_t(host))->GetObject<Ipv4>();
    const InetSocketAddress to(there->GetAddress(1, 0).GetLocal(), SINK_PORT);
    run->integrate(owner);
    run->counts[size_t(owner)].there += 1.0;
    if (of.congestion.type.empty()) {
        socket = Socket::CreateSocket(node, UdpSocketFactory::GetTypeId());
        socket->Bind(InetSocketAddress(Ipv4Address::GetAny(), port));
        socket->Connect(to.ConvertTo());
        send();
        return;
    }
    const Ptr<TcpSocketBase> tcp = run->make_socket(node, of);
    tcp->TraceConnectWithoutContext("CongestionWindow", MakeCallback(&Flow::window_moved, this));
    tcp->TraceConnectWithoutContext("CongState", MakeCallback(&Flow::state_moved, this));
    tcp->TraceConnectWithoutContext("Retransmission", MakeCallback(&Flow::sent_again, this));
    socket = tcp;
    socket->SetConnectCallback(MakeCallback(&Flow::connected, this), MakeNullCallback<void, Ptr<Socket>>());
    socket->SetSendCallback(MakeCallback(&Flow::fill, this));
    socket->Bind(InetSocketAddress(Ipv4Address::GetAny(), port));
    socket->Connect(to.ConvertTo());
}

void Flow::go()
{
    run->integrate(owner);
    run->counts[size_t(owner)].there -= 1.0;
    run->counts[size_t(owner)].window -= window;
    gone = true;
}

void Flow::fill(Ptr<Socket>, uint32_t)
{
    const uint32_t chunk = 16 * run->request.segment;
    while (!gone && socket->GetTxAvailable() >= chunk)
        if (socket->Send(Create<Packet>(chunk)) < 0)
            return;
}

void Flow::send()
{
    if (gone)
        return;
    socket->Send(Create<Packet>(run->request.packet_size - IP_BYTES - UDP_BYTES));
    Simulator::Schedule(NanoSeconds(run->request.classes[size_t(owner)].interval), &Flow::send, this);
}

void Flow::window_moved(uint32_t, uint32_t bytes)
{
    if (gone)
        return;
    const double moved = double(bytes) / run->request.segment;
    run->integrate(owner);
    run->counts[size_t(owner)].window += moved - window;
    window = moved;
}

void Flow::state_moved(TcpSocketState::TcpCongState_t, TcpSocketState::TcpCongState_t to)
{
    run->counts[size_t(owner)].ends[TIMEOUTS] += to == TcpSocketState::CA_LOSS && !gone;
}

void Flow::sent_again(Ptr<const Packet>, const TcpHeader &, const Address &, const Address &, Ptr<const TcpSocketBase>)
{
    run->counts[size_t(owner)].ends[RETRANSMISSIONS] += !gone;
}

bool Gate::DoCorrupt(Ptr<Packet> packet)
{
    return run->flow_of_frame(packet)->gone;
}

/* What is built */

Ptr<TcpSocketBase> Run::make_socket(Ptr<Node> node, const Class &of)
{
    const Ptr<TcpL4Protocol> tcp = node->GetObject<TcpL4Protocol>();
    const Ptr<TcpSocketBase> made = DynamicCast<TcpSocketBase>(tcp->CreateSocket());
    made->SetCongestionControlAlgorithm(of.congestion.factory().Create<TcpCongestionOps>());
    const uint32_t window = of.initial_window * request.segment;
    const std::pair<const char *, uint32_t> numbers[] = {
        {"SegmentSize", request.segment},      {"SndBufSize", request.window_bytes},
        {"RcvBufSize", request.window_bytes},  {"InitialCwnd", of.initial_window},
        {"DelAckCount", of.delayed_ack ? 2u : 1u},
        {"InitialSlowStartThreshold", of.slow_start ? std::numeric_limits<uint32_t>::max() : window},
    };
    for (const auto &[name, value] : numbers)
        made->SetAttribute(name, UintegerValue(value));
    /* As in Linux, whose timeouts are the smoothed round trip and 200 ms at least; ns-3's own are 0.2, 1 and 3 s. */
    made->SetAttribute("DelAckTimeout", TimeValue(MilliSeconds(40)));
    made->SetAttribute("MinRto", TimeValue(NanoSeconds(of.rtt) + MilliSeconds(200)));
    made->SetAttribute("ConnTimeout", TimeValue(Seconds(1)));
    made->SetAttribute("DataRetries", UintegerValue(1000000)); /* a flow never gives up */
    made->SetAttribute("ConnCount", UintegerValue(1000000));
    if (of.ecn)
        made->SetUseEcn(TcpSocketState::On);
    return made;
}

void Run::listen(size_t host)
{
    const Class &of = request.classes[size_t(hosts[host].owner)];
    const Ptr<Node> node = right.Get(uint32_t(host));
    Ptr<Socket> sink;
    if (of.congestion.type.empty())
        sink = Socket::CreateSocket(node, UdpSocketFactory::GetTypeId());
    else
        sink = make_socket(node, of);
    sink->Bind(InetSocketAddress(Ipv4Address::GetAny(), SINK_PORT));
    sink->SetRecvCallback(MakeCallback(&Run::drain, this));
    sink->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address &>(),
                            MakeCallback(&Run::accepted, this));
    if (!of.congestion.type.empty())
        sink->Listen();
    sinks.push_back(sink);
}

void Run::accepted(Ptr<Socket> socket, const Address &)
{
    socket->SetRecvCallback(MakeCallback(&Run::drain, this));
    sinks.push_back(socket);
}

void Run::drain(Ptr<Socket> socket)
{
    while (socket->GetRxAvailable() > 0 && socket->Recv())
        continue;
}

/* A full packet takes of the link what it would without the two bytes that frames have in front. */
void Hop::set_capacity(double rate)
{
    out->SetDataRate(DataRate(run->framed(rate)));
}

void Hop::trace()
{
    disc->TraceConnectWithoutContext("Enqueue", MakeCallback(&Hop::enqueued, this));
    disc->TraceConnectWithoutContext("Dequeue", MakeCallback(&Hop::dequeued, this));
    disc->TraceConnectWithoutContext("DropBeforeEnqueue", MakeCallback(&Hop::dropped_before, this));
    disc->TraceConnectWithoutContext("DropAfterDequeue", MakeCallback(&Hop::dropped_after, this));
    disc->TraceConnectWithoutContext("Mark", MakeCallback(&Hop::marked, this));
    out->TraceConnectWithoutContext("PhyTxEnd", MakeCallback(&Hop::left_link, this));
}

/* The device on the far side sends acknowledgements back, which do not wait. */
void Run::build_links(PointToPointHelper &helper)
{
    Ipv4AddressHelper address;
    TrafficControlHelper control;
    hops.resize(request.links.size());
    for (uint32_t i = 0; i < hops.size(); i++) {
        const Link &link = request.links[i];
        Hop &hop = hops[i];
        char net[32];
        helper.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue("1p"));
        helper.SetChannelAttribute("Delay", TimeValue(NanoSeconds(link.delay)));
        const NetDeviceContainer middle = helper.Install(routers.Get(i), routers.Get(i + 1));
        hop.run = this;
        hop.index = int(i);
        hop.out = DynamicCast<PointToPointNetDevice>(middle.Get(0));
        hop.set_capacity(link.capacity);
        middle.Get(1)->SetAttribute("TxQueue", PointerValue(CreateObjectWithAttributes<DropTailQueue<Packet>>(
                                                   "MaxSize", StringValue("100000000p"))));
        hop.disc = link.queue.factory().Create<QueueDisc>();
        routers.Get(i)->GetObject<TrafficControlLayer>()->SetRootQueueDiscOnDevice(hop.out, hop.disc);
        std::snprintf(net, sizeof net, "12.%d.%d.0", int(i / PER_NET), int(i % PER_NET));
        address.SetBase(net, "255.255.255.0");
        address.Assign(middle);
        control.Uninstall(middle.Get(1));
    }
}

void Run::build()
{
    const uint32_t count = uint32_t(hosts.size());
    PointToPointHelper helper;
    double most = 0.0;
    for (const Link &link : request.links)
        most = std::max(most, link.capacity);
    const uint64_t fast = uint64_t(std::max(1e11, 1e3 * most));
    const uint64_t rate = request.access > 0.0 ? framed(request.access) : fast;
    left.Create(count);
    right.Create(count);
    routers.Create(uint32_t(request.links.size() + 1));
    helper.SetDeviceAttribute("DataRate", DataRateValue(DataRate(fast)));
    helper.SetDeviceAttribute("Mtu", UintegerValue(request.packet_size));
    InternetStackHelper stack;
    stack.InstallAll();
    build_links(helper);
    helper.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue("100000000p"));
    helper.SetDeviceAttribute("DataRate", DataRateValue(DataRate(rate)));
    Ipv4AddressHelper address;
    TrafficControlHelper control;
    bool leaves = false;
    for (const Life &life : request.flows)
        leaves = leaves || life.stop < request.duration;
    gate = CreateObject<Gate>();
    gate->run = this;
    for (uint32_t i = 0; i < count; i++) {
        char net[32];
        const int high = int(i / PER_NET), low = int(i % PER_NET);
        const Class &of = request.classes[size_t(hosts[i].owner)];
        helper.SetChannelAttribute("Delay", TimeValue(NanoSeconds(of.access)));
        const NetDeviceContainer in = helper.Install(left.Get(i), routers.Get(uint32_t(of.first)));
        helper.SetChannelAttribute("Delay", TimeValue(NanoSeconds(0)));
        const NetDeviceContainer end = helper.Install(right.Get(i), routers.Get(uint32_t(of.last + 1)));
        std::snprintf(net, sizeof net, "10.%d.%d.0", high, low);
        address.SetBase(net, "255.255.255.0");
        address.Assign(in);
        std::snprintf(net, sizeof net, "11.%d.%d.0", high, low);
        address.SetBase(net, "255.255.255.0");
        address.Assign(end);
        control.Uninstall(in);
        control.Uninstall(end);
        if (leaves)
            DynamicCast<PointToPointNetDevice>(in.Get(1))->SetReceiveErrorModel(gate);
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();
    for (Hop &hop : hops)
        hop.trace();
}

/* As many nodes as flows on each, about, so that neither list is long; where their links count, one each. */
void Run::place()
{
    const int total = int(request.flows.size());
    const int even = std::max(int(FEWEST), int(std::ceil(std::sqrt(double(total)))));
    const int most = request.access > 0.0 ? 1 : even;
    flows.resize(size_t(total));
    for (int i = 0; i < total; i++) {
        Flow &flow = flows[size_t(i)];
        flow.run = this;
        flow.index = i;
        flow.owner = request.flows[size_t(i)].owner;
        if (hosts.empty() || hosts.back().owner != flow.owner || i - hosts.back().first == most)
            hosts.push_back({flow.owner, i});
        flow.host = int(hosts.size()) - 1;
        flow.port = uint16_t(FIRST_PORT + i - hosts.back().first);
    }
}

void Run::simulate()
{
    const size_t count = request.classes.size(), total = request.flows.size();
    const int all = int((request.duration + request.bin - 1) / request.bin);
    const int blocks = (all + request.per_block - 1) / request.per_block;
    RngSeedManager::SetSeed(1);
    RngSeedManager::SetRun(request.seed);
    chance = CreateObject<UniformRandomVariable>();
    chance->SetStream(0);
    counts.resize(count);
    for (const Class &of : request.classes)
        crossed.resize(size_t(std::max(int(crossed.size()), of.leg + of.last - of.first + 1)));
    delays.resize(size_t(blocks) * crossed.size() * (request.edges.size() - 1));
    segments.resize(size_t(blocks) * total);
    place();
    build();
    for (size_t i = 0; i < hosts.size(); i++)
        listen(i);
    for (size_t i = 0; i < total; i++) {
        const Life &life = request.flows[i];
        Flow &flow = flows[i];
        const int64_t late = int64_t(chance->GetValue(0.0, double(request.classes[size_t(life.owner)].jitter)));
        if (life.start + late >= life.stop)
            continue;
        Simulator::Schedule(NanoSeconds(life.start + late), &Flow::come, &flow);
        if (life.stop < request.duration)
            Simulator::Schedule(NanoSeconds(life.stop), &Flow::go, &flow);
    }
    for (const Change &change : request.changes)
        Simulator::Schedule(NanoSeconds(change.at), &Hop::set_capacity, &hops[size_t(change.link)], change.capacity);
    for (int i = 1; i < all; i++)
        Simulator::Schedule(NanoSeconds(i * request.bin), &Run::end_bin, this);
    report();
    Simulator::Stop(NanoSeconds(request.duration));
    Simulator::Run();
    end_bin();
    for (Leg &leg : crossed) {
        const double lost = leg.totals[DROP_AQM] + leg.totals[DROP_FULL];
        leg.totals[IN_FLIGHT] = leg.totals[SENT] - lost - leg.totals[QUEUED] - leg.totals[DELIVERED];
        totals.insert(totals.end(), leg.totals, leg.totals + TOTALS);
    }
    for (const Counts &c : counts)
        ends.insert(ends.end(), c.ends, c.ends + ENDS);
}

/* What is counted */

Flow *Run::flow_of_item(Ptr<const QueueDiscItem> item)
{
    uint8_t ports[2] = {};
    item->GetPacket()->CopyData(ports, sizeof ports);
    return flow_of(DynamicCast<const Ipv4QueueDiscItem>(item)->GetHeader().GetSource().Get(), ports);
}

Leg &Hop::leg_of(const Flow *flow)
{
    const Class &of = run->request.classes[size_t(flow->owner)];
    return run->crossed[size_t(of.leg + index - of.first)];
}

void Hop::move_backlog(double bytes)
{
    const double time = double(Run::now() - changed);
    area += backlog * time;
    square += backlog * backlog * time;
    changed = Run::now();
    backlog += bytes;
}

void Hop::enqueued(Ptr<const QueueDiscItem> item)
{
    Leg &leg = leg_of(run->flow_of_item(item));
    move_backlog(item->GetSize());
    leg.row[ARRIVALS] += 1.0;
    leg.totals[SENT] += 1.0;
    leg.totals[QUEUED] += 1.0;
}

void Hop::count_departure(Ptr<const QueueDiscItem> item, int sign)
{
    Flow *flow = run->flow_of_item(item);
    const Class &of = run->request.classes[size_t(flow->owner)];
    const std::vector<int64_t> &edges = run->request.edges;
    Leg &leg = leg_of(flow);
    const int64_t waited = Run::now() - item->GetTimeStamp().GetNanoSeconds();
    const auto above = std::upper_bound(edges.begin(), edges.end() - 1, waited / 1000);
    const size_t bucket = size_t(above - edges.begin() - 1), block = size_t(run->bin / run->request.per_block);
    if (sign > 0) {
        move_backlog(-double(item->GetSize()));
        leg.totals[QUEUED] -= 1.0;
    }
    leg.row[DEPARTURES] += sign;
    leg.row[SOJOURN] += sign * double(waited);
    const size_t number = size_t(of.leg + index - of.first);
    run->delays[(block * run->crossed.size() + number) * (edges.size() - 1) + bucket] += uint32_t(sign);
    if (index == of.last)
        flow->departed += uint32_t(sign);
}

void Hop::count_drop(const Flow *flow, const char *reason)
{
    const std::vector<std::string> &reasons = run->request.links[size_t(index)].full;
    const bool full = std::find(reasons.begin(), reasons.end(), std::string(reason)) != reasons.end();
    Leg &leg = leg_of(flow);
    leg.row[DROPS] += 1.0;
    leg.totals[full ? DROP_FULL : DROP_AQM] += 1.0;
}

void Hop::dropped_before(Ptr<const QueueDiscItem> item, const char *reason)
{
    const Flow *flow = run->flow_of_item(item);
    Leg &leg = leg_of(flow);
    leg.row[ARRIVALS] += 1.0;
    leg.totals[SENT] += 1.0;
    count_drop(flow, reason);
}

/* It has been counted as one that leaves, at this very time. */
void Hop::dropped_after(Ptr<const QueueDiscItem> item, const char *reason)
{
    count_departure(item, -1);
    count_drop(run->flow_of_item(item), reason);
}

void Hop::marked(Ptr<const QueueDiscItem> item, const char *)
{
    Leg &leg = leg_of(run->flow_of_item(item));
    leg.row[MARKS] += 1.0;
    leg.totals[MARK_AQM] += 1.0;
}

void Hop::left_link(Ptr<const Packet> packet)
{
    Leg &leg = leg_of(run->flow_of_frame(packet));
    leg.row[BITS] += 8.0 * (packet->GetSize() - PPP_BYTES);
    leg.totals[DELIVERED] += 1.0;
}

void Run::integrate(int owner)
{
    Counts &c = counts[size_t(owner)];
    const double time = double(now() - c.since);
    c.window_area += c.window * time;
    c.there_area += c.there * time;
    c.since = now();
}

/* The controller's variable, and the probability with which the law signals: as in the package's own packets. */
void Hop::probe(double *row) const
{
    row[0] = row[1] = 0.0;
    if (const auto pie = DynamicCast<PieQueueDisc>(disc)) {
        row[0] = (*pie).*open(PieProbability());
        row[1] = ((*pie).*open(PieBurst())).IsStrictlyPositive() ? 0.0 : row[0];
    } else if (const auto red = DynamicCast<RedQueueDisc>(disc)) {
        const double average = (*red).*open(RedAverage()), most = (*red).*open(RedMost());
        const double low = (*red).*open(RedLow()), high = (*red).*open(RedHigh());
        double p = most * (average - low) / (high - low);
        if (average >= high)
            p = (*red).*open(RedGentle()) ? most + (1.0 - most) * (average - high) / high : 1.0;
        row[0] = row[1] = std::min(1.0, std::max(0.0, p));
    } else if (const auto codel = DynamicCast<CoDelQueueDisc>(disc)) {
        const double root = (*codel).*open(CoDelRoot());
        row[0] = (*codel).*open(CoDelDropping()) && root > 0.0 ? 65536.0 / root : 0.0;
        row[1] = std::numeric_limits<double>::quiet_NaN();
    }
}

void Run::end_bin()
{
    const int64_t begin = int64_t(bin) * request.bin;
    const double time = double(now() - begin);
    for (Hop &hop : hops) {
        double seen[2];
        hop.move_backlog(0.0);
        bands.push_back(hop.area / time);
        bands.push_back(hop.square / time);
        hop.area = hop.square = 0.0;
        hop.probe(seen);
        bins.insert(bins.end(), {seen[0], seen[1], seen[1]});
    }
    for (Leg &leg : crossed) {
        legs.insert(legs.end(), leg.row, leg.row + COLUMNS);
        std::fill(leg.row, leg.row + COLUMNS, 0.0);
    }
    for (size_t i = 0; i < counts.size(); i++) {
        Counts &c = counts[i];
        integrate(int(i));
        classes.push_back(c.there_area > 0.0 ? c.window_area / c.there_area : 0.0);
        classes.push_back(c.there_area / time);
        c.window_area = c.there_area = 0.0;
    }
    bin++;
    if (bin % request.per_block == 0 || begin + request.bin >= request.duration)
        for (Flow &flow : flows) {
            segments[size_t((bin - 1) / request.per_block) * flows.size() + size_t(flow.index)] = flow.departed;
            flow.departed = 0;
        }
}

/* A line is shorter than what a pipe takes at once, so that those of several processes do not mix. */
void Run::report()
{
    char line[96];
    const int size = std::snprintf(line, sizeof line, "{\"seed\": %llu, \"time\": %.9g}\n",
                                   (unsigned long long)request.seed, double(now()) / NS);
    if (::write(STDOUT_FILENO, line, size_t(size)) != size)
        ::_exit(1); /* nobody listens any more */
    Simulator::Schedule(NanoSeconds(std::max<int64_t>(1, request.duration / 200)), &Run::report, this);
}

} // namespace pi2

"""ns-3's side of bench/packets.py: Reno flows on one bottleneck under PIE. Prints one line of JSON.

    python bench/ns3_dumbbell.py FLOWS SECONDS

ns-3 (its PyPI wheel) has no PI2; its PIE costs what a PI2 would, an update every 32 ms and a draw
per packet. Access links are fast enough to be nowhere; the device queue below the queue discipline
holds one packet; tracing is off. What is timed is `Simulator.Run` alone.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from typing import Any


def main() -> None:
    """Run it."""
    from ns import ns

    flows, seconds = int(sys.argv[1]), float(sys.argv[2])
    disc = build(ns, flows)
    ns.Simulator.Stop(ns.Seconds(seconds))
    begun = time.process_time()
    ns.Simulator.Run()
    cpu = time.process_time() - begun
    packets = int(disc.GetStats().nTotalDequeuedPackets)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({"cpu": cpu, "packets": packets, "memory": memory}))


def build(ns: Any, flows: int) -> Any:
    """Return the queue discipline of a dumbbell: 10 Mbit/s, 100 ms, `flows` bulk transfers."""
    defaults = {
        "ns3::TcpL4Protocol::SocketType": ns.StringValue("ns3::TcpLinuxReno"),
        "ns3::TcpSocket::SegmentSize": ns.UintegerValue(1448),
        "ns3::TcpSocket::DelAckCount": ns.UintegerValue(2),
        "ns3::TcpSocket::DelAckTimeout": ns.TimeValue(ns.MilliSeconds(40)),
        "ns3::TcpSocket::SndBufSize": ns.UintegerValue(4 << 20),
        "ns3::TcpSocket::RcvBufSize": ns.UintegerValue(4 << 20),
        "ns3::TcpSocketBase::MinRto": ns.TimeValue(ns.MilliSeconds(200)),
    }
    for name, value in defaults.items():
        ns.Config.SetDefault(name, value)
    left, right, routers = ns.NodeContainer(), ns.NodeContainer(), ns.NodeContainer()
    left.Create(flows)
    right.Create(flows)
    routers.Create(2)
    access, bottleneck = ns.PointToPointHelper(), ns.PointToPointHelper()
    access.SetDeviceAttribute("DataRate", ns.StringValue("100Gbps"))
    access.SetChannelAttribute("Delay", ns.StringValue("0ms"))
    bottleneck.SetDeviceAttribute("DataRate", ns.StringValue("10Mbps"))
    bottleneck.SetChannelAttribute("Delay", ns.StringValue("50ms"))
    bottleneck.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", ns.StringValue("1p"))
    ns.InternetStackHelper().InstallAll()
    devices = bottleneck.Install(routers.Get(0), routers.Get(1))
    control = ns.TrafficControlHelper()
    control.SetRootQueueDisc(
        "ns3::PieQueueDisc",
        "MaxSize",
        ns.StringValue("40000p"),
        "QueueDelayReference",
        ns.TimeValue(ns.MilliSeconds(20)),
        "Tupdate",
        ns.TimeValue(ns.MilliSeconds(32)),
    )
    disc = control.Install(devices.Get(0)).Get(0)
    address = ns.Ipv4AddressHelper()
    address.SetBase(ns.Ipv4Address("10.0.0.0"), ns.Ipv4Mask("255.255.255.0"))
    address.Assign(devices)
    anywhere = ns.InetSocketAddress(ns.Ipv4Address.GetAny(), 5000).ConvertTo()
    for i in range(flows):
        address.NewNetwork()
        address.Assign(access.Install(left.Get(i), routers.Get(0)))
        address.NewNetwork()
        ends = address.Assign(access.Install(routers.Get(1), right.Get(i)))
        ns.PacketSinkHelper("ns3::TcpSocketFactory", anywhere).Install(right.Get(i))
        target = ns.InetSocketAddress(ends.GetAddress(1), 5000).ConvertTo()
        bulk = ns.BulkSendHelper("ns3::TcpSocketFactory", target)
        bulk.SetAttribute("MaxBytes", ns.UintegerValue(0))
        bulk.Install(left.Get(i)).Start(ns.Seconds(1.0 * i / flows))
    ns.Ipv4GlobalRoutingHelper.PopulateRoutingTables()
    return disc


if __name__ == "__main__":
    main()

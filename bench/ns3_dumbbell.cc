// The yardstick of `make bench`: the work of bench/ours.py, done by ns-3.
//
// server – path – router – client. The router's link to the client is the bottleneck (DropTail FIFO in packets);
// the whole base delay lies between path and router. N bulk flows from the server to the client, TcpLinuxReno, SACK,
// timestamps, window scaling, delayed acknowledgements, 1448-byte segments, no pacing, as Linux's `reno` runs them.
//
// It leaves out whatever would only slow ns-3 down: no traffic-control layer (the FIFO is the device's own queue),
// no flow monitor, no traces but two counters at the bottleneck, no checksums, static routes.
//
// Prints one JSON object. Build: g++ -O3 ns3_dumbbell.cc with the pkg-config flags of libns3-dev.
#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"

#include <chrono>
#include <iostream>

using namespace ns3;

static uint64_t forwarded_packets = 0;
static uint64_t forwarded_bytes = 0;
static uint64_t dropped_packets = 0;

static void
Forwarded(Ptr<const Packet> packet)
{
    forwarded_packets++;
    forwarded_bytes += packet->GetSize();
}

static void
Dropped(Ptr<const Packet>)
{
    dropped_packets++;
}

int
main(int argc, char* argv[])
{
    uint32_t flows = 100;
    double seconds = 4;
    std::string rate = "1Gbps";
    std::string rtt = "20ms";
    std::string queue = "16000p";
    std::string scheduler = "ns3::MapScheduler";
    CommandLine cmd;
    cmd.AddValue("flows", "bulk flows", flows);
    cmd.AddValue("seconds", "virtual seconds", seconds);
    cmd.AddValue("rate", "bottleneck rate", rate);
    cmd.AddValue("rtt", "base RTT", rtt);
    cmd.AddValue("queue", "bottleneck FIFO", queue);
    cmd.AddValue("scheduler", "event scheduler", scheduler);
    cmd.Parse(argc, argv);

    const auto wall_start = std::chrono::steady_clock::now();
    GlobalValue::Bind("SchedulerType", StringValue(scheduler));
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", StringValue("ns3::TcpLinuxReno"));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1448));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(2));
    Config::SetDefault("ns3::TcpSocket::DelAckTimeout", TimeValue(MilliSeconds(40)));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(4 << 20));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(6 << 20));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::WindowScaling", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(200)));

    NodeContainer nodes; // 0 server, 1 path, 2 router, 3 client
    nodes.Create(4);
    PointToPointHelper fast; // a veth has no rate; 100 Gbit/s and a deep queue never bind
    fast.DisableFlowControl(); // without it the device's queue drops, and no qdisc is put above it
    fast.SetDeviceAttribute("DataRate", StringValue("100Gbps"));
    fast.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue("1000000p"));
    PointToPointHelper delay = fast;
    delay.SetChannelAttribute("Delay", TimeValue(Time(rtt) / 2));
    PointToPointHelper bottleneck;
    bottleneck.DisableFlowControl();
    bottleneck.SetDeviceAttribute("DataRate", StringValue(rate));
    bottleneck.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue(queue));

    NetDeviceContainer a = fast.Install(nodes.Get(0), nodes.Get(1));
    NetDeviceContainer b = delay.Install(nodes.Get(1), nodes.Get(2));
    NetDeviceContainer c = bottleneck.Install(nodes.Get(2), nodes.Get(3));

    InternetStackHelper stack;
    stack.SetIpv6StackInstall(false);
    stack.Install(nodes);
    Ipv4AddressHelper address;
    Ipv4InterfaceContainer client;
    const char* networks[] = {"10.0.2.0", "10.0.1.0", "10.0.0.0"};
    NetDeviceContainer links[] = {a, b, c};
    for (int i = 0; i < 3; i++)
    {
        address.SetBase(networks[i], "255.255.255.0");
        client = address.Assign(links[i]);
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    const uint16_t port = 5201;
    PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), port));
    sink.Install(nodes.Get(3)).Start(Seconds(0));
    BulkSendHelper bulk("ns3::TcpSocketFactory", InetSocketAddress(client.GetAddress(1), port));
    bulk.SetAttribute("MaxBytes", UintegerValue(0));
    bulk.SetAttribute("SendSize", UintegerValue(14480));
    for (uint32_t i = 0; i < flows; i++)
    {
        bulk.Install(nodes.Get(0)).Start(Seconds(0));
    }

    c.Get(0)->TraceConnectWithoutContext("PhyTxEnd", MakeCallback(&Forwarded));
    DynamicCast<PointToPointNetDevice>(c.Get(0))->GetQueue()->TraceConnectWithoutContext(
        "Drop",
        MakeCallback(&Dropped));

    Simulator::Stop(Seconds(seconds));
    const auto run_start = std::chrono::steady_clock::now();
    Simulator::Run();
    const auto run_end = std::chrono::steady_clock::now();
    const uint64_t events = Simulator::GetEventCount();
    std::chrono::duration<double> setup = run_start - wall_start;
    std::chrono::duration<double> run = run_end - run_start;
    std::cout << "{\"virtual_s\": " << seconds << ", \"flows\": " << flows
              << ", \"forwarded_packets\": " << forwarded_packets
              << ", \"forwarded_bytes\": " << forwarded_bytes
              << ", \"dropped_packets\": " << dropped_packets << ", \"events\": " << events
              << ", \"setup_wall_s\": " << setup.count() << ", \"run_wall_s\": " << run.count() << "}"
              << std::endl;
    Simulator::Destroy();
    return 0;
}

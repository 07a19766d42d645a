// The yardstick of `make bench`: the work of bench/ours.py, done by ns-3.
//
// server – path – router – client. The router's link to the client is the bottleneck (DropTail FIFO in packets);
// the whole base delay lies between path and router; with --path=false there is no path, and it lies between server
// and router. N bulk flows from the server to the client, TcpLinuxReno (--cca: TcpCubic, TcpBbr), SACK, timestamps,
// window scaling, delayed acknowledgements, 1448-byte segments, no pacing (but for BBR), as Linux runs them.
//
// It leaves out whatever would only slow ns-3 down: no traffic-control layer (the FIFO is the device's own queue),
// no flow monitor, no traces but two counters at the bottleneck, no checksums, static routes.
//
// After --wall_limit seconds it stops, and says how far it came.
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
static uint64_t forwarded_before = 0;
static std::chrono::steady_clock::time_point wall_end;
static std::chrono::steady_clock::time_point wall_from;

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

static void
StartTheWatch()
{
    wall_from = std::chrono::steady_clock::now();
    forwarded_before = forwarded_packets;
}

static void
LookAtTheClock()
{
    if (std::chrono::steady_clock::now() > wall_end)
    {
        Simulator::Stop();
    }
    Simulator::Schedule(MilliSeconds(1), &LookAtTheClock);
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
    std::string cca = "TcpLinuxReno";
    uint32_t buffer = 6 << 20;
    bool path = true;
    double wall_limit = 0;
    double from = 0;
    CommandLine cmd;
    cmd.AddValue("flows", "bulk flows", flows);
    cmd.AddValue("seconds", "virtual seconds", seconds);
    cmd.AddValue("rate", "bottleneck rate", rate);
    cmd.AddValue("rtt", "base RTT", rtt);
    cmd.AddValue("queue", "bottleneck FIFO", queue);
    cmd.AddValue("scheduler", "event scheduler", scheduler);
    cmd.AddValue("cca", "congestion control, without ns3::", cca);
    cmd.AddValue("buffer", "receive buffer in bytes, and least send buffer", buffer);
    cmd.AddValue("path", "a node between server and router", path);
    cmd.AddValue("wall_limit", "stop after so many seconds of wall time; 0: never", wall_limit);
    cmd.AddValue("from", "virtual time from which late_wall_s and late_packets count", from);
    cmd.Parse(argc, argv);

    const auto wall_start = std::chrono::steady_clock::now();
    GlobalValue::Bind("SchedulerType", StringValue(scheduler));
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", StringValue("ns3::" + cca));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1448));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(2));
    Config::SetDefault("ns3::TcpSocket::DelAckTimeout", TimeValue(MilliSeconds(40)));
    Config::SetDefault("ns3::TcpSocket::SndBufSize",
                       UintegerValue(buffer > (6u << 20) ? buffer : 4u << 20));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(buffer));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::WindowScaling", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(200)));

    NodeContainer nodes; // server, path (if any), router, client
    nodes.Create(path ? 4 : 3);
    Ptr<Node> server = nodes.Get(0);
    Ptr<Node> router = nodes.Get(nodes.GetN() - 2);
    Ptr<Node> receiver = nodes.Get(nodes.GetN() - 1);
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

    std::vector<NetDeviceContainer> links;
    if (path)
    {
        links.push_back(fast.Install(server, nodes.Get(1)));
    }
    links.push_back(delay.Install(path ? nodes.Get(1) : server, router));
    links.push_back(bottleneck.Install(router, receiver));

    InternetStackHelper stack;
    stack.SetIpv6StackInstall(false);
    stack.Install(nodes);
    Ipv4AddressHelper address;
    Ipv4InterfaceContainer client;
    const char* networks[] = {"10.0.2.0", "10.0.1.0", "10.0.0.0"};
    for (size_t i = 0; i < links.size(); i++)
    {
        address.SetBase(networks[i], "255.255.255.0");
        client = address.Assign(links[i]);
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    const uint16_t port = 5201;
    PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), port));
    sink.Install(receiver).Start(Seconds(0));
    BulkSendHelper bulk("ns3::TcpSocketFactory", InetSocketAddress(client.GetAddress(1), port));
    bulk.SetAttribute("MaxBytes", UintegerValue(0));
    bulk.SetAttribute("SendSize", UintegerValue(14480));
    for (uint32_t i = 0; i < flows; i++)
    {
        bulk.Install(server).Start(Seconds(0));
    }

    Ptr<NetDevice> out = links.back().Get(0);
    out->TraceConnectWithoutContext("PhyTxEnd", MakeCallback(&Forwarded));
    DynamicCast<PointToPointNetDevice>(out)->GetQueue()->TraceConnectWithoutContext(
        "Drop",
        MakeCallback(&Dropped));

    Simulator::Stop(Seconds(seconds));
    Simulator::Schedule(Seconds(from), &StartTheWatch);
    if (wall_limit > 0)
    {
        wall_end = wall_start + std::chrono::milliseconds(static_cast<int64_t>(wall_limit * 1000));
        LookAtTheClock();
    }
    const auto run_start = std::chrono::steady_clock::now();
    Simulator::Run();
    const auto run_end = std::chrono::steady_clock::now();
    const uint64_t events = Simulator::GetEventCount();
    const double reached = Simulator::Now().GetSeconds();
    std::chrono::duration<double> setup = run_start - wall_start;
    std::chrono::duration<double> run = run_end - run_start;
    const bool came = reached > from; // else the wall's limit came first
    std::chrono::duration<double> late = came ? run_end - wall_from : run_end - run_end;
    std::cout << "{\"virtual_s\": " << reached << ", \"flows\": " << flows
              << ", \"forwarded_packets\": " << forwarded_packets
              << ", \"forwarded_bytes\": " << forwarded_bytes
              << ", \"dropped_packets\": " << dropped_packets << ", \"events\": " << events
              << ", \"late_virtual_s\": " << (came ? reached - from : 0)
              << ", \"late_packets\": " << (came ? forwarded_packets - forwarded_before : 0)
              << ", \"late_wall_s\": " << late.count()
              << ", \"setup_wall_s\": " << setup.count() << ", \"run_wall_s\": " << run.count() << "}"
              << std::endl;
    Simulator::Destroy();
    return 0;
}

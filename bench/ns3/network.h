// SPDX-License-Identifier: GPL-2.0-only
// The network that `path.cc` simulates: nodes, links whose delays follow tables, and routes that change.
#pragma once

#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"

#include <algorithm>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

using namespace ns3;

// Length of the PPP header that PointToPointNetDevice puts before an IP packet.
constexpr uint32_t PPP_BYTES = 2;

using Direction = std::pair<std::string, std::string>;

[[noreturn]] inline void Fail(const std::string& what) {
    std::cerr << "path: " << what << std::endl;
    std::exit(1);
}

// The delay of one direction as a function of time. The complete table is read at the start, so changes of the delay
// need no events.
struct DelayLine {
    std::vector<std::pair<int64_t, int64_t>> steps; // (from t_ns on, delay_ns)
    std::size_t at = 0;
    int64_t lastArrivalNs = 0;

    // Arrival time of a packet that departs at `departNs`. Departure times must not decrease; no packet overtakes
    // another.
    int64_t Arrival(int64_t departNs) {
        while (at + 1 < steps.size() && steps[at + 1].first <= departNs) {
            ++at;
        }
        lastArrivalNs = std::max(departNs + steps[at].second, lastArrivalNs);
        return lastArrivalNs;
    }
};

// A PointToPointChannel. Each direction has its own delay, and the delay follows a table.
class ChangingChannel : public PointToPointChannel {
  public:
    DelayLine line[2];
    int64_t gapNs[2] = {0, 0};

    bool TransmitStart(Ptr<const Packet> packet, Ptr<PointToPointNetDevice> source, Time sending) override {
        const uint32_t wire = source == GetSource(0) ? 0 : 1;
        const int64_t now = Simulator::Now().GetNanoSeconds();
        const int64_t arrival = line[wire].Arrival(now + sending.GetNanoSeconds() + gapNs[wire]);
        Ptr<PointToPointNetDevice> to = GetDestination(wire);
        Simulator::ScheduleWithContext(to->GetNode()->GetId(), NanoSeconds(arrival - now),
                                       &PointToPointNetDevice::Receive, to, packet->Copy());
        return true;
    }
};

// The number of a transmission. The number travels with the packet, so that each arrival can be matched with its
// transmission.
class TransmissionTag : public Tag {
  public:
    uint32_t number = 0;

    static TypeId GetTypeId() {
        static TypeId id = TypeId("leowarp::TransmissionTag").SetParent<Tag>().AddConstructor<TransmissionTag>();
        return id;
    }
    TypeId GetInstanceTypeId() const override { return GetTypeId(); }
    uint32_t GetSerializedSize() const override { return 4; }
    void Serialize(TagBuffer buffer) const override { buffer.WriteU32(number); }
    void Deserialize(TagBuffer buffer) override { number = buffer.ReadU32(); }
    void Print(std::ostream& out) const override { out << number; }
};

struct Network {
    std::map<std::string, Ptr<Node>> nodes;
    std::map<std::string, Ipv4Address> addresses;
    std::map<Direction, uint32_t> interfaces;                // by (node, neighbour): index of the node's interface
    std::map<Direction, Ptr<PointToPointNetDevice>> senders; // by direction
    std::map<Direction, Ptr<ChangingChannel>> channels;      // by direction
    std::map<Direction, uint32_t> wires;                     // by direction: its index, 0 or 1, in its channel
    std::map<Direction, uint32_t> overheads;
    std::string source, destination;
    uint32_t bufferBytes = 0;
    std::vector<uint32_t> lost; // transmissions that were dropped at a full queue, which is the only cause of loss here

    void Dropped(Ptr<const Packet> packet) {
        TransmissionTag tag;
        if (packet->PeekPacketTag(tag)) {
            lost.push_back(tag.number);
        }
    }

    template <typename T> T& Of(std::map<Direction, T>& known, const std::string& a, const std::string& b) {
        auto found = known.find({a, b});
        if (found == known.end()) {
            Fail("nothing joins " + a + " and " + b);
        }
        return found->second;
    }
    Ptr<Node> NodeOf(const std::string& name) {
        if (!nodes.count(name)) {
            Fail("there is no node " + name);
        }
        return nodes[name];
    }
};

// All interfaces of a node have the same address. A route therefore needs no next-hop address, and a station can be
// reached through any satellite.
inline void AddNode(Network& net, const std::string& name) {
    Ptr<Node> node = CreateObject<Node>();
    InternetStackHelper stack;
    Ipv4StaticRoutingHelper routing;
    stack.SetRoutingHelper(routing);
    stack.SetIpv6StackInstall(false);
    stack.Install(node);
    net.addresses[name] = Ipv4Address(0x0a000001 + static_cast<uint32_t>(net.nodes.size()));
    net.nodes[name] = node;
}

inline Ptr<PointToPointNetDevice> AddDevice(Network& net, const std::string& name, const std::string& neighbour,
                                            uint32_t limitPkts, Ptr<ChangingChannel> channel) {
    auto device = CreateObject<PointToPointNetDevice>();
    auto queue = CreateObject<DropTailQueue<Packet>>();
    queue->SetMaxSize(QueueSize(QueueSizeUnit::PACKETS, limitPkts)); // the packet that is being sent is not counted
    device->SetQueue(queue);
    device->SetAddress(Mac48Address::Allocate());
    device->SetMtu(1500);
    device->TraceConnectWithoutContext("MacTxDrop", MakeCallback(&Network::Dropped, &net));
    Ptr<Node> node = net.NodeOf(name);
    node->AddDevice(device);
    device->Attach(channel);
    // There is no traffic control above the device, because its pfifo_fast of 1000 packets would be a second queue.
    Ptr<Ipv4> ip = node->GetObject<Ipv4>();
    const uint32_t interface = ip->AddInterface(device);
    ip->AddAddress(interface, Ipv4InterfaceAddress(net.addresses[name], Ipv4Mask::GetOnes()));
    ip->SetMetric(interface, 1);
    ip->SetUp(interface);
    net.interfaces[{name, neighbour}] = interface;
    net.senders[{name, neighbour}] = device;
    return device;
}

inline void AddLink(Network& net, const std::string& a, const std::string& b, uint32_t limitPkts,
                    uint32_t overheadBytes) {
    if (net.channels.count({a, b})) {
        return; // a link that comes up again has stayed: in_flight = "drain" takes none down
    }
    if (overheadBytes < PPP_BYTES) {
        Fail("an overhead of less than " + std::to_string(PPP_BYTES) + " bytes");
    }
    auto channel = CreateObject<ChangingChannel>();
    AddDevice(net, a, b, limitPkts, channel);
    AddDevice(net, b, a, limitPkts, channel);
    uint32_t wire = 0;
    for (const Direction& way : {Direction{a, b}, Direction{b, a}}) {
        net.channels[way] = channel;
        net.wires[way] = wire++;
        net.overheads[way] = overheadBytes;
    }
}

// The device's rate applies to the payload and to the headers of IP and PPP. If a link's overhead is larger than the
// PPP header, a gap after each packet simulates the remaining bytes.
inline void SetRate(Network& net, const std::string& a, const std::string& b, uint64_t rateBps) {
    Ptr<PointToPointNetDevice> device = net.Of(net.senders, a, b);
    device->SetDataRate(DataRate(rateBps));
    const uint64_t bits = 8ULL * (net.Of(net.overheads, a, b) - PPP_BYTES);
    const int64_t gapNs = static_cast<int64_t>((bits * 1'000'000'000ULL + rateBps / 2) / rateBps);
    device->SetInterframeGap(NanoSeconds(gapNs));
    net.Of(net.channels, a, b)->gapNs[net.Of(net.wires, a, b)] = gapNs;
}

inline void SetRoute(Ptr<Node> node, Ipv4Address destination, uint32_t interface) {
    Ipv4StaticRoutingHelper helper;
    Ptr<Ipv4StaticRouting> routing = helper.GetStaticRouting(node->GetObject<Ipv4>());
    for (uint32_t i = 0; i < routing->GetNRoutes(); ++i) {
        if (routing->GetRoute(i).IsHost() && routing->GetRoute(i).GetDest() == destination) {
            routing->RemoveRoute(i);
            break;
        }
    }
    routing->AddHostRouteTo(destination, interface);
}

inline void Read(Network& net, const std::string& file) {
    std::ifstream in(file);
    if (!in) {
        Fail("cannot read " + file);
    }
    for (std::string text; std::getline(in, text);) {
        std::istringstream line(text);
        std::string kind, a, b;
        int64_t tNs = 0, value = 0;
        uint32_t limit = 0, overhead = 0;
        line >> kind;
        if (kind == "node" && line >> a) {
            AddNode(net, a);
        } else if (kind == "link" && line >> a >> b >> limit >> overhead) {
            AddLink(net, a, b, limit, overhead);
        } else if (kind == "rate" && line >> a >> b >> value) {
            SetRate(net, a, b, value);
        } else if (kind == "delay" && line >> tNs >> a >> b >> value) {
            net.Of(net.channels, a, b)->line[net.Of(net.wires, a, b)].steps.emplace_back(tNs, value);
        } else if (std::string node; kind == "route" && line >> tNs >> node >> a >> b) {
            net.NodeOf(a);
            Simulator::Schedule(NanoSeconds(tNs), &SetRoute, net.NodeOf(node), net.addresses[a],
                                net.Of(net.interfaces, node, b));
        } else if (kind == "flow" && line >> net.source >> net.destination >> net.bufferBytes) {
            net.NodeOf(net.source), net.NodeOf(net.destination);
        } else {
            Fail("this line is not understood: " + text);
        }
    }
    for (const auto& [way, channel] : net.channels) {
        if (channel->line[net.wires[way]].steps.empty()) {
            Fail("no delay from " + way.first + " to " + way.second);
        }
    }
}

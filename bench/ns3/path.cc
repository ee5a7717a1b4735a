// SPDX-License-Identifier: GPL-2.0-only
// One bulk TCP transfer in ns-3 over a path that leowarp made: the same links, queues, rates, delays and routes,
// changed at the same instants. `path_text.py` writes the file that this program reads; `bench.py` compiles and runs
// the program.
//
//     path FILE CONGESTION_CONTROL DURATION_NS SAMPLES
//
// FILE has lines of the following kinds. A node's line precedes all lines with its name, and times never decrease:
//
//     node NAME
//     link A B LIMIT_PKTS OVERHEAD_BYTES
//     rate A B RATE_BPS                        direction A to B, from the link's first packet on
//     delay T_NS A B DELAY_NS                  direction A to B, for packets that depart from T_NS on
//     route T_NS NODE DESTINATION NEXT_HOP     from T_NS on
//     flow SOURCE DESTINATION BUFFER_BYTES
//
// The program writes a line of TCP's state every 50 ms to SAMPLES (CSV) and the run's counts to stdout (JSON). If it
// cannot play a line, it ends with a message and status 1.

#include "network.h"

namespace {

// 1500 bytes of IP less 20 of IPv4, 20 of TCP and 12 of timestamps, as Linux fills its packets.
constexpr uint32_t SEGMENT_BYTES = 1448;
constexpr int64_t SAMPLE_NS = 50'000'000;
constexpr uint16_t PORT = 5001;

// Settings that make ns-3 behave as Linux does. All other settings keep the defaults of ns-3. These settings come
// before the nodes, because a node's TCP takes its congestion control when the node is made.
void SetTcp(const std::string& control) {
    TypeId type;
    if (!TypeId::LookupByNameFailSafe("ns3::" + control, &type)) {
        Fail("ns-3 has no " + control);
    }
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(type));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(SEGMENT_BYTES));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(2));
    Config::SetDefault("ns3::TcpSocket::DelAckTimeout", TimeValue(MilliSeconds(40))); // TCP_ATO_MIN
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(200)));   // TCP_RTO_MIN
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::WindowScaling", BooleanValue(true));
}

// One transmission of a segment; the list is in the order of sending.
struct Transmission {
    uint32_t segment;
    bool isRetransmission;
    bool hasArrived;
};

class Transfer {
  public:
    Transfer(Network& net, const std::string& samples) : m_samples(samples) {
        if (!m_samples) {
            Fail("cannot write " + samples);
        }
        m_samples << "t_ns,cwnd_bytes,ssthresh_bytes,srtt_ns,received_in_order_bytes,retransmissions_pkts\n";
        Ptr<Node> to = net.NodeOf(net.destination);
        m_listener = Socket::CreateSocket(to, TcpSocketFactory::GetTypeId());
        m_listener->Bind(InetSocketAddress(Ipv4Address::GetAny(), PORT));
        m_listener->Listen();
        m_listener->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address&>(),
                                      MakeCallback(&Transfer::Accepted, this));
        m_sender = Socket::CreateSocket(net.NodeOf(net.source), TcpSocketFactory::GetTypeId());
        m_sender->TraceConnectWithoutContext("Tx", MakeCallback(&Transfer::Sent, this));
        m_sender->TraceConnectWithoutContext("CongestionWindow", MakeCallback(&Transfer::SetWindow, this));
        m_sender->TraceConnectWithoutContext("SlowStartThreshold", MakeCallback(&Transfer::SetThreshold, this));
        m_sender->TraceConnectWithoutContext("RTT", MakeCallback(&Transfer::SetRtt, this));
        m_sender->TraceConnectWithoutContext("RTO", MakeCallback(&Transfer::SetTimeout, this));
        m_sender->TraceConnectWithoutContext("CongState", MakeCallback(&Transfer::SetState, this));
        m_sender->SetSendCallback(MakeCallback(&Transfer::Fill, this));
        m_sender->SetConnectCallback(MakeCallback(&Transfer::Connected, this), MakeCallback(&Transfer::Refused, this));
        m_server = InetSocketAddress(net.addresses[net.destination], PORT);
        Simulator::ScheduleWithContext(net.NodeOf(net.source)->GetId(), Seconds(0), &Transfer::Start, this);
        Simulator::Schedule(NanoSeconds(SAMPLE_NS), &Transfer::Sample, this);
    }

    void Report(int64_t durationNs, const std::vector<uint32_t>& lost) {
        uint64_t retransmissions = 0, spurious = 0, lostAgain = 0;
        for (uint32_t number : lost) {
            lostAgain += m_sent[number].isRetransmission;
        }
        std::vector<bool> known; // of a segment: an earlier transmission has arrived at some time
        for (const Transmission& each : m_sent) {
            if (each.segment >= known.size()) {
                known.resize(each.segment + 1, false);
            }
            retransmissions += each.isRetransmission;
            spurious += each.isRetransmission && known[each.segment];
            if (each.hasArrived) {
                known[each.segment] = true;
            }
        }
        std::cout << "{\"goodput_bps\": " << 8e9 * m_receivedBytes / durationNs << ", \"sent_pkts\": " << m_sent.size()
                  << ", \"lost_pkts\": " << lost.size() << ", \"lost_again_pkts\": " << lostAgain
                  << ", \"late_pkts\": " << m_late << ", \"retransmissions_pkts\": " << retransmissions
                  << ", \"spurious_pkts\": " << spurious << ", \"recoveries\": " << m_recoveries
                  << ", \"timeouts\": " << m_timeouts << "}" << std::endl;
    }

  private:
    void Start() {
        if (m_sender->Bind() != 0 || m_sender->Connect(m_server) != 0) {
            Fail("the connection cannot begin");
        }
    }
    void Connected(Ptr<Socket> socket) { Fill(socket, socket->GetTxAvailable()); }
    void Refused(Ptr<Socket>) { Fail("the connection was refused"); }

    void Fill(Ptr<Socket> socket, uint32_t) {
        while (socket->GetTxAvailable() >= SEGMENT_BYTES) {
            if (socket->Send(Create<Packet>(SEGMENT_BYTES)) < 0) {
                return;
            }
        }
    }

    void Accepted(Ptr<Socket> socket, const Address&) {
        m_receiver = socket;
        socket->TraceConnectWithoutContext("Rx", MakeCallback(&Transfer::Received, this));
        socket->SetRecvCallback(MakeCallback(&Transfer::Delivered, this));
    }

    void Delivered(Ptr<Socket> socket) {
        while (Ptr<Packet> packet = socket->Recv()) {
            m_receivedBytes += packet->GetSize();
        }
    }

    void Sent(const Ptr<const Packet> packet, const TcpHeader& header, const Ptr<const TcpSocketBase>) {
        if (packet->GetSize() == 0) {
            return;
        }
        // The first byte has the number 1 (the SYN has 0); numbers of 32 bits wrap around after 4.3 GB.
        const uint32_t low = header.GetSequenceNumber().GetValue() - 1;
        uint64_t byte = (m_highByte & ~0xffffffffULL) | low;
        if (byte + 0x80000000ULL < m_highByte) {
            byte += 0x100000000ULL;
        } else if (byte > m_highByte + 0x80000000ULL) {
            byte -= 0x100000000ULL;
        }
        if (packet->GetSize() != SEGMENT_BYTES || byte % SEGMENT_BYTES != 0) {
            Fail("a packet is not one whole segment: byte " + std::to_string(byte));
        }
        const bool again = byte < m_highByte;
        m_retransmissions += again;
        m_highByte = std::max(m_highByte, byte + SEGMENT_BYTES);
        TransmissionTag tag;
        tag.number = m_sent.size();
        packet->AddPacketTag(tag);
        m_sent.push_back({static_cast<uint32_t>(byte / SEGMENT_BYTES), again, false});
    }

    void Received(const Ptr<const Packet> packet, const TcpHeader&, const Ptr<const TcpSocketBase>) {
        TransmissionTag tag;
        if (packet->GetSize() == 0 || !packet->PeekPacketTag(tag)) {
            return;
        }
        Transmission& each = m_sent[tag.number];
        each.hasArrived = true;
        // A packet is late by leowarp's definition if it is a first transmission and arrives after a packet that was
        // sent later.
        m_late += !each.isRetransmission && tag.number < m_latest;
        m_latest = std::max(m_latest, tag.number);
    }

    void SetWindow(uint32_t, uint32_t bytes) { m_windowBytes = bytes; }
    void SetThreshold(uint32_t, uint32_t bytes) { m_thresholdBytes = bytes; }
    void SetRtt(Time, Time rtt) { m_rttNs = rtt.GetNanoSeconds(); }
    // A timeout doubles the timer (RFC 6298, 5.5), up to 60 s; ns-3 has no trace of timeouts themselves.
    void SetTimeout(Time before, Time after) {
        m_timeouts += m_rttNs > 0 && after > before && after == Min(before + before, Seconds(60));
    }
    void SetState(TcpSocketState::TcpCongState_t, TcpSocketState::TcpCongState_t state) {
        m_recoveries += state == TcpSocketState::CA_RECOVERY;
    }

    void Sample() {
        m_samples << Simulator::Now().GetNanoSeconds() << ',' << m_windowBytes << ',' << m_thresholdBytes << ','
                  << m_rttNs << ',' << m_receivedBytes << ',' << m_retransmissions << '\n';
        Simulator::Schedule(NanoSeconds(SAMPLE_NS), &Transfer::Sample, this);
    }

    std::ofstream m_samples;
    Ptr<Socket> m_listener, m_sender, m_receiver;
    Address m_server;
    std::vector<Transmission> m_sent;
    uint64_t m_highByte = 0, m_receivedBytes = 0, m_late = 0, m_retransmissions = 0, m_recoveries = 0, m_timeouts = 0;
    uint32_t m_latest = 0, m_windowBytes = 0, m_thresholdBytes = 0;
    int64_t m_rttNs = 0;
};

} // namespace

int main(int count, char** arguments) {
    if (count != 5) {
        Fail("wanted: FILE CONGESTION_CONTROL DURATION_NS SAMPLES");
    }
    const int64_t durationNs = std::stoll(arguments[3]);
    SetTcp(arguments[2]);
    Network net;
    Read(net, arguments[1]);
    if (net.source.empty()) {
        Fail("the file has no flow");
    }
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(net.bufferBytes));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(net.bufferBytes));
    Transfer transfer(net, arguments[4]);
    Simulator::Stop(NanoSeconds(durationNs));
    Simulator::Run();
    transfer.Report(durationNs, net.lost);
    Simulator::Destroy();
    return 0;
}

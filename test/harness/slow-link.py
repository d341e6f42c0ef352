"""slow-link.py <ms>: makes the device slow0 in this network namespace. What is routed to it leaves by eth0 that much later.

Ends with its standard input, and slow0 with it.
"""

import fcntl
import os
import select
import socket
import struct
import sys
import time
from collections import deque

TUNSETIFF = 0x400454CA
IFF_TUN = 0x0001
IFF_NO_PI = 0x1000
MOST_BYTES = 65536

delay = int(sys.argv[1]) / 1000
device = os.open("/dev/net/tun", os.O_RDWR)
fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH", b"slow0", IFF_TUN | IFF_NO_PI))
network = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
# Else it would be routed to slow0 again.
network.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"eth0\0")
print("ready", flush=True)

waiting = deque()
while True:
    left = max(0, waiting[0][0] - time.monotonic()) if waiting else None
    ready = select.select([device, sys.stdin], [], [], left)[0]
    if sys.stdin in ready:
        break
    if device in ready:
        waiting.append((time.monotonic() + delay, os.read(device, MOST_BYTES)))
    while waiting and waiting[0][0] <= time.monotonic():
        packet = waiting.popleft()[1]
        try:
            network.sendto(packet, (socket.inet_ntoa(packet[16:20]), 0))
        except OSError:
            pass  # Lost, as on a network.

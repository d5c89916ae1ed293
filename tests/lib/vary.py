"""vary.py OUT FILE...: make a contiguous frame, without digests, of the first chunks of frames in their order."""
import json
import os
import subprocess
import sys

from bombs import entries, frame, stored

payload, places, total = b"", [], 0
for name in sys.argv[2:]:
    listing = subprocess.run([os.environ["BPK"], "info", "-vv", "--json", name], capture_output=True, check=True)
    chunk = json.loads(listing.stdout)["chunks"][0]
    with open(name, "rb") as file:
        file.seek(chunk["offset"])
        places.append(len(payload))
        payload += file.read(chunk["packed_size"])
    total += chunk["raw_size"]
index = stored(entries(places), 8)
open(sys.argv[1], "wb").write(frame(payload, index, total, 0, 8, flags=0x13))

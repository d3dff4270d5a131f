import json
import sys

for line in sys.stdin:
    doc = json.loads(line)
    print(json.dumps({"set": {"words": str(len(doc.get("text", "").split()))}}), flush=True)

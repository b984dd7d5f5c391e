"""What `tc` shows of a queue, what the kernel makes of what it was asked for, and the way back.

`parsing` reads the output of ``tc qdisc show``; `installing` says what a kernel would run if it
were asked for a law, and writes the line to paste; `showing` says how `tc` would print that.
`flow_queues` reads flow queues, too, for scenarios. Users call them by `pi2_fluid.qdisc`.
"""

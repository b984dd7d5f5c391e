"""A line of a script in which tc's words stand, however it is written, is the line."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pi2_fluid.tc.observing import observe

patient = settings(deadline=None, max_examples=300, suppress_health_check=[HealthCheck.too_slow])

#: What may be asked for, and how tc says where.
PLACES = (
    "dev eth0 root",
    "dev eth0 root handle 5:",
    "parent 1:10 dev eth0",
    "dev br-lan parent 1:a",
)
ASKED = (
    "pie limit 200 target 20ms",
    "dualpi2 max_rtt 100ms",
    "fq_pie",
    "fq_codel limit 100",
    "red limit 60000 min 5000 max 15000 avpkt 1000 burst 50",
)
#: Ways to write a command; tc stands for "tc qdisc add ...".
SPELLINGS = {
    "bare": "{tc}",
    "netns exec": "ip netns exec x {tc}",
    "netns": "tc -n x {words}",
    "long netns": "tc -s -netns x {words}",
    "variable": "$TC {words}",
    "quoted variable": '"$TC" {words}',
    "braces": "${{TC}} {words}",
    "path": "/sbin/tc {words}",
    "another build": "tc-l4s {words}",
    "sudo": "sudo -n {tc}",
    "environment": "LC_ALL=C env -i nice -n 5 {tc}",
    "trace": "+ {tc}",
    "deep trace": "+++ {tc}",
    "condition": "if {tc}; then",
    "negated": "if ! {tc}; then exit 1; fi",
    "then": "then {tc}",
    "or true": "{tc} || true",
    "redirected": "{tc} 2>/dev/null",
    "both redirected": "{tc} >>log.txt 2>&1",
    "comment": "{tc} # for the uplink, tc qdisc add dev no root pie",
    "next": "{tc}; next --thing",
    "after": "modprobe sch_pie && {tc}",
    "prompt": "user@h:~$ {tc}",
    "prompt of Fedora": "[root@fw ~]# {tc}",
    "prompt of OpenWrt": "root@OpenWrt:~# {tc}",
    "prompt of root": "# {tc}",
    "prompt of SUSE": "user@h:~/x> {tc}",
    "remote": "ssh root@fw '{tc}'",
    "shell": 'sh -c "{tc}"',
    "unit": "ExecStart=/usr/sbin/tc {words}",
    "hook": "        post-up {tc}",
    "call": "r1.cmd('{tc}')",
    "list": "  - {tc}",
    "code": "`{tc}`",
    "subshell": "x=$({tc})",
    "braces around": "{{ {tc}; }}",
    "mail": "> {tc}",
    "twice quoted": ">> > {tc}",
    "colours": "\x1b[1;31m{tc}\x1b[0m",
    "continued": "{continued}",
    "background": "{tc} &",
}
#: How short tc lets one write its own words.
SHORT = (("qdisc", "replace"), ("qd", "add"), ("q", "r"), ("qdi", "ch"), ("q", "a"))


def written(spelling: str, short: tuple[str, str], place: str, asked: str) -> str:
    words = f"{' '.join(short)} {place} {asked}"
    return SPELLINGS[spelling].format(
        tc=f"tc {words}", words=words, continued=f"tc {words}".replace(" root", " \\\n   root")
    )


def asked_in(text: str) -> list[tuple]:
    return [
        (block.kind, block.dev, block.parent, block.handle, block.options, block.words)
        for block in observe(text).blocks
    ]


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_every_spelling_is_the_line(spelling):
    for place in PLACES:
        (bare,) = asked_in(f"tc qdisc replace {place} {ASKED[0]}")
        assert asked_in(written(spelling, SHORT[0], place, ASKED[0])) == [bare], place


@pytest.mark.slow
@patient
@given(
    lines=st.lists(
        st.tuples(
            st.sampled_from(sorted(SPELLINGS)),
            st.sampled_from(SHORT),
            st.sampled_from(PLACES),
            st.sampled_from(ASKED),
        ),
        min_size=1,
        max_size=6,
    ),
    end=st.sampled_from(("\n", "\r\n", "\n\n", " \n\t")),
    around=st.sampled_from(("", "set -x", "for d in a b; do", "# tc is asked here", "exit 0")),
)
def test_a_script_of_any_spellings_has_each_line_once(lines, end, around):
    text = end.join([around, *(written(*line) for line in lines), around])
    bare = [asked_in(f"tc qdisc add {place} {asked}")[0] for _, _, place, asked in lines]
    assert asked_in(text) == bare


@pytest.mark.parametrize(
    ("line", "namespace"),
    [
        ("ip netns exec lab tc q a dev v0 root pie", "lab"),
        ("sudo ip netns exec lab /sbin/tc -s q a dev v0 root pie", "lab"),
        ("tc -n lab q a dev v0 root pie", "lab"),
        ("tc -netns lab q a dev v0 root pie", "lab"),
        ("tc q a dev v0 root pie", None),
    ],
)
def test_the_namespace_is_known(line, namespace):
    (seen,) = observe(line).observations
    assert (seen.namespace, seen.blocks[0].namespace, seen.dev) == (namespace, namespace, "v0")


def test_what_a_script_assigns_is_known():
    text = 'IF=eth1\nexport TARGET="20ms"\nOPTIONS="limit 77 ecn"\n'
    text += '$TC qdisc add dev $IF root pie target "${TARGET}" $OPTIONS'
    assert asked_in(text) == asked_in("tc qdisc add dev eth1 root pie target 20ms limit 77 ecn")


@pytest.mark.parametrize(
    "line",
    [
        "#!/bin/sh\n# tc qdisc add dev eth0 root pie",
        "#tc qdisc add dev eth0 root pie",
        "tc qdisc del dev eth0 root pie",
        "tc qdisc show dev eth0",
        "tc filter add dev eth0 parent 1: u32",
        "etc qdisc add dev eth0 root pie",
        "tc -s monitor",
        "tc",
        "[Match]\nName=eth0",
        "[root@fw ~]#",
        '{\n "$TC" -s class show\n}',
        "[ -z tc ] && [[ -n $TC ]]",
    ],
)
def test_what_asks_for_no_queue(line):
    assert observe(line).blocks == []


@given(text=st.text(alphabet="tc qdisaeru0\"'$(){}[]<>|;&#\\\n`=:-", max_size=60))
@settings(deadline=None, max_examples=200)
def test_any_text_is_read(text):
    observe(text.replace("[", "(").replace("{", "("))

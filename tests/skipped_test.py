"""What skipped.py finds in a log of ctest."""

import unittest

from skipped import describe

LOG = """\
1/3 Testing: tools_srun
setUpModule (__main__) ... skipped "no program 'munged'"
Ran 0 tests in 0.000s
2/3 Testing: tools_mpi
test_more (__main__.SameBits.test_more) ... skipped 'only with --full'
test_one (__main__.SameBits.test_one) ... ok
test_two (__main__.Stop.test_two)
What it does. ... skipped 'only with --full'
test_three (__main__.Stop.test_three) ... skipped 'needs root'
setUpClass (__main__.Hosts) ... skipped 'needs root'
3/3 Testing: mpi_comm_test_1
[ RUN      ] MpiTest.First
../tests/MpiTest.cpp:253: Skipped
no other rank
[  SKIPPED ] MpiTest.First (0 ms)
[  SKIPPED ] 1 test, listed below:
[  SKIPPED ] MpiTest.First
"""

SAID = """\
test: skipped, for want of what:
  tools_srun: no program 'munged'
  tools_mpi: test_more, test_two: only with --full
  tools_mpi: test_three, Hosts: needs root
  mpi_comm_test_1: MpiTest.First: no other rank"""


class Skipped(unittest.TestCase):

    def test_each_reason_is_said_once_a_suite(self):
        self.assertEqual(describe(LOG), SAID)

    def test_none(self):
        log = "1/1 Testing: tools_mpi\ntest_a (__main__.A.test_a) ... ok\n"
        self.assertEqual(describe(log), "test: none was skipped")


if __name__ == "__main__":
    unittest.main()

"""Without a host, `bot.sent` has what the bot would send."""

import runpy
import unittest
from pathlib import Path

FILE = Path(__file__).parent / "NAME.py"


class Test(unittest.TestCase):
    def setUp(self) -> None:
        self.program = runpy.run_path(str(FILE))
        self.bot = self.program["bot"]

    def test_the_command_greets_by_name(self) -> None:
        self.bot.config = {"greeting": "hi"}
        self.assertEqual(self.program["greet"]("anna"), {"text": "hi, anna"})
        message = {"level": "info", "message": "hi, anna"}
        self.assertEqual(list(self.bot.sent), [{"method": "log", "params": message}])

    def test_refuses_an_empty_name(self) -> None:
        with self.assertRaisesRegex(Exception, "must not be empty"):
            self.program["greet"]("")


if __name__ == "__main__":
    unittest.main()

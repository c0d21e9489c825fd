from safegain.cli.talk import printable


def test_what_a_terminal_would_obey_is_not_printed():
    assert "\x1b" not in printable("\x1b[2J\x07 label")
    assert printable("ß λ 猫\nnext") == "ß λ 猫\nnext"

"""Makes the customers' file: `python -m examples.shop.made_up examples/data/orders.csv`. The same file each time.

Some orders are awkward on purpose: what they are for stands beside each in `AWKWARD` and `BROKEN`.
"""

import csv
import sys
from collections.abc import Callable, Iterator, Sequence
from io import StringIO
from pathlib import Path
from random import Random
from typing import NamedTuple

from examples.shop.feed import COLUMNS
from examples.shop.order import CATALOGUE

SEED = 20_260_301
ORDERS = 2_500
Row = Sequence[str]


class Country(NamedTuple):
    code: str
    weight: int
    names: Sequence[str]
    streets: Sequence[str]
    towns: Sequence[str]
    postcode: Callable[[Random], str]


def _digits(count: int) -> Callable[[Random], str]:
    return lambda dice: str(dice.randrange(10 ** (count - 1), 10**count))


COUNTRIES = (
    Country(
        "NL",
        30,
        ["Ann Jansen", "Joost de Vries", "Fleur van 't Hof", "Sjoerd Dijkstra", "Loïs Bakker"],
        ["Kaasmarkt", "Oude Gracht", "Nieuwstraat", "Dorpsweg"],
        ["Gouda", "'s-Hertogenbosch", "Leeuwarden", "Súdwest-Fryslân"],
        lambda dice: f"{dice.randrange(1000, 9999)} {''.join(dice.choices('ABCDEGHJKLNPRSTVWXZ', k=2))}",
    ),
    Country(
        "DE",
        20,
        ["Käthe Weiß", "Jürgen Groß", "Björn Müller", "Özlem Şahin"],
        ["Königstraße", "Am Bächle", "Lange Gasse"],
        ["Lübeck", "Köln", "Görlitz"],
        _digits(5),
    ),
    Country(
        "FR",
        12,
        ["Maëlys Hélène", "François Noël", "Zoé Lefèvre", "Gaël D'Aubigné"],
        ["rue de l'Église", "impasse du Château", "allée des Chênes"],
        ["Saint-Étienne", "Orléans", "L'Haÿ-les-Roses"],
        _digits(5),
    ),
    Country(
        "PL",
        10,
        ["Zofia Żółć", "Łukasz Wiśniewski", "Grażyna Kowalczyk"],
        ["ul. Świętojańska", "ul. Długa"],
        ["Łódź", "Gdańsk", "Kraków"],
        lambda dice: f"{dice.randrange(10, 99)}-{dice.randrange(100, 999)}",
    ),
    Country(
        "GR",
        6,
        ["Ελένη Νικολάου", "Γιώργος Παπαδόπουλος"],
        ["Οδός Ερμού", "Λεωφόρος Νίκης"],
        ["Πάτρα", "Θεσσαλονίκη"],
        lambda dice: f"{dice.randrange(100, 999)} {dice.randrange(10, 99)}",
    ),
    Country(
        "JP",
        6,
        ["佐藤 由紀", "渡邉 健太", "髙橋 﨑"],
        ["北一条西", "四条通"],
        ["札幌市", "京都市"],
        lambda dice: f"{dice.randrange(100, 999)}-{dice.randrange(1000, 9999)}",
    ),
    Country("IL", 5, ["איתן כהן", "נועה לוי"], ["רחוב הרצל", "שדרות בן גוריון"], ["חיפה", "תל אביב"], _digits(7)),
    Country(
        "EG", 4, ["يوسف حسن", "فاطمة الزهراء"], ["شارع النيل", "ميدان التحرير"], ["القاهرة", "الإسكندرية"], _digits(5)
    ),
    Country("IN", 4, ["अनन्या शर्मा", "राहुल गुप्ता"], ["गांधी मार्ग", "स्टेशन रोड"], ["जयपुर", "वाराणसी"], _digits(6)),
    Country(
        "GB",
        3,
        ["Siân O'Connor", "Angus McÀidh"],
        ["High Street", "St Mary's Lane"],
        ["Stow-on-the-Wold", "Llanfairpwllgwyngyll"],
        lambda dice: f"{dice.choice('BGLS')}{dice.randrange(1, 20)} {dice.randrange(1, 9)}{dice.choice('AB')}D",
    ),
)

AWKWARD: dict[int, Row] = {
    # names that trip up who counts characters or turns them round
    10: ("", "Zoë 👩‍👩‍👧‍👦 Mu\u0308ller", "zoe@example.org", "Kaasmarkt 1", "2801 AB", "Gouda", "NL", "TEA-MINT*1"),
    20: ("", "\u202bאבג\u202c 123 (Ltd.)", "rtl@example.org", "Kaasmarkt 2", "2801 AB", "Gouda", "NL", "HONEY*2"),
    30: ("", 'Bobby "; DROP TABLE', "bobby@example.org", "<b>Kaasmarkt</b> 3", "2801 AB", "Gouda", "NL", "CARD*1"),
    # carriers that say no: for now, for good, and by failing
    58: (
        "",
        "Keeper of the Light",
        "keeper@example.org",
        "The Lighthouse 1",
        "8899 ZZ",
        "Vlieland",
        "NL",
        "TEA-EARL*9",
    ),
    205: ("", "Second Keeper", "second@example.org", "Old Lighthouse", "8880 AA", "Terschelling", "NL", "TEA-CHAI*4"),
    405: ("", "Triton", "triton@example.org", "Coral Street 7", "-", "Atlantis", "XA", "POT-IRON*1 MUG-BLUE*2"),
    1204: ("", "Nemo", "nemo@example.org", "Deep Lane 20,000", "-", "Atlantis", "XA", "BOX-TIN*1"),
    278: ("", "Wordy", "wordy@example.org", "Second door to the left " * 6, "2801 AB", "Gouda", "NL", "SIEVE*1"),
    # what the shop refuses
    120: ("", "Ann Jansen", "ann@example.org", "Kaasmarkt 4", "28O1 AB", "Gouda", "NL", "SIEVE*1"),
    240: ("", "Käthe Weiß", "kaethe@example.org", "Am Bächle 2", "2355", "Lübeck", "DE", "SIEVE*1"),
    1500: ("", "François Noël", "francois@example.org", "rue Longue 2", "450000", "Orléans", "FR", "SIEVE*1"),
    333: ("", "Joost de Vries", "joost@example.org", "Nieuwstraat 3", "8911 CD", "Leeuwarden", "NL", "MUG-BLEU*2"),
    334: ("", "Joost de Vries", "joost@example.org", "Nieuwstraat 3", "8911 CD", "Leeuwarden", "NL", "MUG-BLUE*0"),
    335: ("", "   ", "nobody@example.org", "Nieuwstraat 3", "8911 CD", "Leeuwarden", "NL", "MUG-BLUE*1"),
    2222: ("", "Sjoerd Dijkstra", "sjoerd at example.org", "Dorpsweg 1", "8911 CD", "Leeuwarden", "NL", "HONEY*1"),
}
"""By position. The number of the order is that of its position, if none is given."""

BROKEN: dict[int, bytes] = {
    103: b"A00103,too,few,columns",
    104: b"A00104,Ann Jansen,ann@example.org,Kaasmarkt 1,2801 AB,Gouda,NL,SIEVE*two",
    105: b"A00105,Ann Jansen,ann@example.org,Kaasmarkt 1,2801 AB,Gouda,NL,SIEVE*1,and,more",
    305: "A00305,Käthe Weiß,kaethe@example.org,Am Bächle 2,23552,Lübeck,DE,SIEVE*1".encode("latin-1"),
    306: b'A00306,"Ann Jansen,ann@example.org,Kaasmarkt 1,2801 AB,Gouda,NL,SIEVE*1',
    307: b"A00307,Ann\x00Jansen,ann@example.org,Kaasmarkt 1,2801 AB,Gouda,NL,SIEVE",
    2350: b"",
}
"""Lines that are no order: columns, numbers, another encoding, a quote that never ends, a zero byte, nothing."""

AGAIN = {360: 12, 1600: 700, 2450: 2}
"""Positions at which an earlier order comes once more, word for word."""
OTHER = {390: 41, 2300: 40}
"""Positions at which the number of an earlier order stands before another order."""


def made_up() -> Iterator[bytes]:
    """The file's lines, the first of which names the columns."""
    dice = Random(SEED)
    made: dict[int, Row] = {}
    yield _line(COLUMNS)
    for position in range(1, ORDERS + 1):
        row = made[position] = _row(position, dice)
        if position in AGAIN:
            yield _line(made[AGAIN[position]])
        elif position in OTHER:
            yield _line((made[OTHER[position]][0], *row[1:]))
        else:
            yield BROKEN.get(position, _line(row).rstrip(b"\n")) + b"\n"


def _row(position: int, dice: Random) -> Row:
    country = dice.choices(COUNTRIES, [country.weight for country in COUNTRIES])[0]
    goods = dice.choices(list(CATALOGUE), k=dice.choice((1, 1, 1, 2, 2, 3)))
    ordinary = (
        dice.choice(country.names),
        f"customer{dice.randrange(1, 2000)}@example.org",
        f"{dice.choice(country.streets)} {dice.randrange(1, 200)}",
        country.postcode(dice),
        dice.choice(country.towns),
        country.code,
        " ".join(f"{code}*{dice.choice((1, 1, 1, 2, 2, 3, 6))}" for code in goods),
    )
    return (f"A{position:05}", *AWKWARD.get(position, ("", *ordinary))[1:])


def _line(row: Row) -> bytes:
    text = StringIO()
    csv.writer(text, lineterminator="\n").writerow(row)
    return text.getvalue().encode()


if __name__ == "__main__":
    Path(sys.argv[1]).write_bytes(b"".join(made_up()))

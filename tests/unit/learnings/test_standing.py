"""Which statements are standing instructions: own examples in three languages."""

import pytest

from tests.support.tables import every_row
from understudy.learnings.model import Kind
from understudy.learnings.standing import is_standing

STANDING = """
Please reply in Portuguese from now on.
Keep your replies under five sentences.
Short answers only.
I prefer brief replies.
No emojis, please.
Never send an email without my consent.
Always double-check the figures.
以后请用法语跟我说话。
请叫我王老师。
永远不要未经我同意就发邮件。
我喜欢简短的回答。
Từ nay hãy trả lời bằng tiếng Pháp.
Trả lời ngắn gọn thôi.
Đừng dùng biểu tượng cảm xúc.
Hãy gọi tôi là cô Lan.
Tôi muốn mọi câu trả lời đều có ví dụ.
Luôn kiểm tra lại số liệu trước khi gửi.
Never log in to my bank.
The user does not want emojis.
回答不超过两百字。
称呼我为小李就好。
Mọi câu trả lời không quá ba câu.
Luôn nêu nguồn.
Never commit secrets.
回答要有依据，注明来源。
Câu trả lời phải có nguồn.
Người dùng muốn câu trả lời ngắn.
I'd appreciate shorter responses.
Responses must not exceed 150 words.
Never charge my card.
I find long replies annoying.
Answers without headings.
Never overwrite a file you didn't create.
Never switch to English in the middle of an answer.
Never touch the production database.
Lúc nào cũng nêu nguồn.
Never push to main.
I always want metric units in reports.
The agent must never run commands as root.
始终用中文回答。
"""

# Standing for a reader, but not by the closed list: a model, the reviewer or `--always` says so.
UNREAD = """
All responses should be in Italian.
User likes answers with examples.
请用要点列出答案。
I'd like every explanation in plain English.
You must not share my phone number with anyone.
不确定的时候就直说。
Two sentences max.
You may never post on my behalf.
跟我说英语就行。
Không tự ý thanh toán.
Format code as code blocks.
Show the command before running it.
Hãy nói chuyện thân mật với tôi.
Please no more exclamation marks.
别用英文缩写。
Mind your tone.
Use she/her for me.
Viết xong phải chạy thử.
Don't be so cheerful.
Use metric units.
Write dates as YYYY-MM-DD.
"""

TOPICAL = """
Customers like short answers.
Customers prefer long answers.
Support replies within a day.
Anna writes long replies.
Khách hàng thích câu trả lời ngắn.
客户喜欢简短的回答。
The bakery opens at six.
Dr. Okafor always arrives late.
The printer never works on Mondays.
Every invoice has a purchase number.
I prefer the aisle seat.
I like my steak rare.
My favourite author is Le Guin.
For the wedding cards we want cream paper.
When you order flowers, choose white ones.
In the garden blog, plant names are in Latin.
If it rains, the concert moves to the hall.
The tenants should pay by bank transfer.
We always meet on the first Tuesday.
We chose the blue tiles.
The German lessons are on Wednesday.
The answers to the quiz are on page 40.
The response time of the clinic is two days.
Her name is Sam.
Call Lena about the lease.
Use the red folder for tax papers.
We never ship to islands.
Please answer in French just this once.
Keep it short today.
The museum does not allow flash.
My daughter prefers short stories.
All replies from the landlord are in the archive.
The coach wants the players to ask before they leave.
I usually take the night train to Vienna.
For the recipe book use grams.
In letters to the school, write formally.
The date of the hearing is 3 May.
The English menu is out of date.
Users can ask for a refund within 30 days.
Lena said that the list is complete.
The boiler must be checked every year.
面包店六点开门。
打印机周一总是坏。
我喜欢靠过道的座位。
请柬用米色的纸。
我女儿不吃辣。
订花的时候选白色的。
德语课在星期三。
每张发票都有采购号。
在园艺博客里植物名用拉丁文。
博物馆不允许用闪光灯。
房东的回复都在档案里。
周报请用英文写。
下周的会议改到周四。
今天先用英文回答。
Tiệm bánh mở cửa lúc sáu giờ.
Máy in luôn hỏng vào thứ Hai.
Tôi thích ghế cạnh lối đi.
Khi đặt hoa thì chọn màu trắng.
Với thiệp cưới, chúng tôi dùng giấy kem.
Lớp tiếng Đức học vào thứ Tư.
Hóa đơn nào cũng có số mua hàng.
Con gái tôi không ăn cay.
Bảo tàng không cho dùng đèn flash.
Câu trả lời của chủ nhà nằm trong hồ sơ.
Trong blog làm vườn, tên cây viết bằng tiếng Latinh.
Báo cáo tuần viết bằng tiếng Anh.
Hôm nay trả lời bằng tiếng Anh nhé.
The vet is closed on Sundays.
My sister never eats meat.
Uncle Joe always pays in cash.
The choir sings in Latin.
I love hiking in the Alps.
I prefer trains over planes.
I want the kitchen painted green.
I usually order the soup.
The landlord wants all complaints in writing.
Guests should remove their shoes.
Students must never run in the corridor.
When planning trips, choose hotels near the station.
For birthday gifts keep the price under 30 euros.
In the cookbook, quantities are metric.
On the poster use the short title.
Emails to the bank should be formal.
The pool must be cleaned before every season.
Our plumber speaks Polish.
The next call with the dentist is on Friday.
The thermostat shows temperatures in Fahrenheit.
The tone of the brochure is casual.
The summary of the trial is on my desk.
All answers in the exam are multiple choice.
The default language of the till is French.
We agreed to pay weekly.
We won't renew the lease.
The insurance covers every member of the family.
Use oak for the shelves.
Please send the invoice to Marta.
Remind me of the dentist tomorrow.
The app always asks for the location.
You can park behind the church.
The user owns two bicycles.
The user's dog is called Rex.
The user is allergic to nuts.
兽医星期天休息。
我妹妹从不吃肉。
学生不得在走廊奔跑。
我喜欢坐火车。
海报上用短标题。
给银行的邮件要正式。
泳池每季度都要清洗。
水管工说波兰语。
牙医的电话是五五五。
用户养了两只狗。
我们决定不续租。
说明书是英文的。
旅行时住车站附近。
Bác sĩ thú y nghỉ Chủ nhật.
Em gái tôi không bao giờ ăn thịt.
Học sinh không được chạy ở hành lang.
Tôi thích đi tàu hơn máy bay.
Trên áp phích dùng tiêu đề ngắn.
Thư gửi ngân hàng phải trang trọng.
Thợ sửa ống nước nói tiếng Ba Lan.
Người dùng nuôi hai con chó.
Chúng tôi quyết định không gia hạn.
Sách hướng dẫn viết bằng tiếng Anh.
Khi đi du lịch thì ở gần ga.
Hồ bơi được rửa mỗi quý.
Deploys happen only on Tuesdays.
We use Terraform for the network.
The bot posts the menu every morning.
The agent is installed on server 4.
The assistant manager is Nora.
Tickets must always have an owner.
Never-ending loops were the cause of the outage.
Use Redis as the cache.
Keep the old logo on the van.
The chat archive is deleted every month.
I always fly economy.
I never drink coffee after noon.
I answer the support line on Mondays.
I want to learn Japanese.
I speak Portuguese at home.
I prefer dark roast beans.
My replies to the tax office are in the blue binder.
My question about the lease was answered.
Short trips are paid by the firm.
Long lists of guests are kept by Paula.
English breakfast is served until ten.
French suppliers want payment in advance.
Time sheets go to Bob.
Dates with Mia are on Saturdays.
Numbers of visitors rose in May.
If the alarm rings, call the porter.
With the new supplier, prices are in dollars.
In the logbook times are in UTC.
For the podcast I want short intros.
On the website we write dates in the American style.
When you translate the manual, keep the brand names.
For marketing mails, sound cheerful.
Reports for the board must be under two pages.
The customer wants replies within two hours.
The team decided to answer complaints in writing.
We will not use emojis on the sign.
Every employee must ask before taking leave.
The exam must be written in English.
The kids should be asked first.
Ask Tom for the key.
Tell Maria about the party.
周二才发布。
客户要求两小时内回复。
我想学日语。
我在家说粤语。
我从不喝咖啡。
网站上日期用美式写法。
员工请假必须先问主管。
英式早餐供应到十点。
每个工单必须有负责人。
机器人每天早上发菜单。
理事会的报告不要超过两页。
缓存用Redis。
Khách hàng muốn được trả lời trong hai giờ.
Tôi muốn học tiếng Nhật.
Tôi không bao giờ uống cà phê buổi tối.
Trên trang web, ngày viết theo kiểu Mỹ.
Nhân viên phải hỏi trước khi nghỉ phép.
Mỗi phiếu phải có người phụ trách.
Bot đăng thực đơn mỗi sáng.
Chúng tôi dùng Redis làm bộ đệm.
Bữa sáng kiểu Anh phục vụ đến mười giờ.
Báo cáo cho hội đồng không được quá hai trang.
The router restarts every night.
I keep my receipts in a shoebox.
I prefer to cycle to work.
My wife wants a shorter commute.
My answers for the survey are due Friday.
We prefer suppliers that deliver on time.
We never reply to anonymous letters.
Our policy is to answer within a day.
The clerk must always ask for an ID.
The manual says to never open the valve.
The script asks for confirmation before deleting.
Paint the fence before winter.
Buy the metric screws.
For the garden, use native plants.
When cooking rice, use two cups of water.
In the club, people use first names.
At the office we speak Danish.
With the neighbours I speak Turkish.
On invoices, dates are written in full.
The trainer explains everything in Spanish.
All prices on the menu include tax.
Units 3 and 4 are rented out.
The source of the river is in Tibet.
Simple meals are on page two.
The lists are sorted by date.
The forms must be signed before every trip.
Grandma calls me Bear.
You need a permit for the lake.
The user plays the cello.
店员必须先问身份证。
我们从不回复匿名信。
在办公室我们说丹麦语。
菜单上的价格都含税。
煮饭时用两杯水。
奶奶做饭不放盐。
脚本删除前会要求确认。
Nhân viên luôn phải hỏi giấy tờ.
Ở văn phòng chúng tôi nói tiếng Đan Mạch.
Giá trong thực đơn đều đã gồm thuế.
Khi nấu cơm, dùng hai cốc nước.
Tôi thích đạp xe đi làm.
I prefer the red car.
I like my tea with lemon.
I prefer morning appointments.
I'd like the invoice sent to my office.
For dinner parties I prefer long tables.
When you water plants, use rain water.
In the choir we sing without sheets.
My preferred airline is KLM.
I hate the smell of paint.
My favourite language is Italian.
Use lime for the border colour.
For board slides use few words.
On hikes I like short breaks.
I prefer hotels with a gym.
The user prefers vegetarian food.
The user likes long walks.
我喜欢柠檬茶。
我喜欢有健身房的酒店。
做幻灯片时少用文字。
用户喜欢吃素。
我最喜欢的语言是意大利语。
Tôi thích trà chanh.
Tôi thích khách sạn có phòng gym.
Khi làm slide thì dùng ít chữ.
Người dùng thích ăn chay.
Ngôn ngữ tôi thích nhất là tiếng Ý.
"""


# Wishes and errands of one topic.
TOPICAL_WISHES = """
Write a polite reply to the mayor by noon.
Answer the letter from the tax office.
我从不在中午之前吃饭。
买菜的时候选有机牛奶。
Tôi không bao giờ ăn trước buổi trưa.
Đi chợ thì chọn sữa hữu cơ.
I prefer linen shirts in summer.
Window seats make me happy.
I like crime novels with short chapters.
My favourite language to sing in is Italian.
For birthdays I prefer homemade gifts.
When I travel I like to walk a lot.
In grant applications I prefer the passive voice.
For the flyer, keep the text under fifty words.
When you reply to the insurer, quote the claim number.
In the recipe blog, give temperatures in Celsius and Fahrenheit.
If guests have allergies, use oat flour.
For the kids' book, use simple words.
I usually swim on Tuesdays.
Tea over coffee, in the morning.
Order two bags of compost.
Translate the menu for Saturday's dinner.
Write a thank-you note to Aunt Vera.
Check the flight status for Monday.
夏天我喜欢穿亚麻衬衫。
传单上的文字不要超过五十字。
回复保险公司的时候要写上理赔编号。
如果客人过敏就用燕麦粉。
Mùa hè tôi thích mặc áo vải lanh.
Trên tờ rơi đừng viết quá năm mươi chữ.
Khi trả lời công ty bảo hiểm thì ghi số hồ sơ.
Nếu khách bị dị ứng thì dùng bột yến mạch.
I enjoy long walks on the beach.
My favourite answer game is Trivial Pursuit.
I prefer short hair in summer.
For road trips I like audiobooks.
"""


def lines(text: str) -> list[str]:
    return text.strip().splitlines()


@every_row("text", lines(STANDING))
def test_an_instruction_for_every_task_is_standing(text: str) -> None:
    assert is_standing(text, Kind.PREFERENCE)


@every_row("text", lines(UNREAD))
def test_an_instruction_in_other_words_is_left_to_a_model_or_a_person(text: str) -> None:
    assert not is_standing(text, Kind.PREFERENCE)


@pytest.mark.parametrize(
    "text", ["Never push to main until Friday", "Always answer in French today"]
)
def test_an_instruction_for_a_time_is_not_standing(text: str) -> None:
    assert not is_standing(text, Kind.DECISION)


@every_row("text", lines(TOPICAL))
def test_a_statement_about_a_topic_is_not_standing(text: str) -> None:
    assert not is_standing(text, Kind.PREFERENCE)


@pytest.mark.parametrize("text", lines(TOPICAL_WISHES))
def test_a_wish_about_a_topic_is_not_standing(text: str) -> None:
    assert not is_standing(text, Kind.PREFERENCE)


@pytest.mark.parametrize("kind", [Kind.RUN_SUMMARY, Kind.PROCEDURE])
def test_kinds_that_are_never_injected_are_not_standing(kind: Kind) -> None:
    assert not is_standing("Always answer in Dutch.", kind)


@pytest.mark.parametrize("part", ["always ", "，", "for the ", "every you ", "请", "câu trả lời "])
def test_a_hostile_text_takes_linear_time(part: str) -> None:
    assert isinstance(is_standing(part * 2000, Kind.PREFERENCE), bool)
